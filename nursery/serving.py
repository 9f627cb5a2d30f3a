"""A nursery over a runner of tasks, from its first cycle to its shutdown."""

from collections.abc import Iterator, Sequence

from dataplane import meta_connection
from dataplane.task_runner import TaskRunner
from meta.process import Shutdown, get_logger
from nursery.config import Settings
from nursery.cycles import Cycles
from nursery.execution import job
from nursery.execution.execute import Budget
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery
from nursery.planning.tasks import Task
from segments.errors import RunnerDied
from segments.location import Stores

log = get_logger()
# The module that Spark's Pythons import before they get a task.
TASK_MODULE = job.__name__


def serve(settings: Settings, runner: TaskRunner, tasks_max: int, shutdown: Shutdown) -> bool:
    """Run cycles until shutdown; false if no task can run any more, or a cycle hung.

    A job that outlasts the drain is cancelled: nothing of it is registered.
    """

    def run_tasks(tasks: Sequence[Task], stores: Stores) -> Iterator[TaskOutcome]:
        in_force = nursery.settings
        budget = Budget(in_force.decode_bytes_max, in_force.task_bytes_max)
        return job.run(runner, budget, tasks, stores)

    with meta_connection.connect(settings) as client:
        nursery = Nursery(client, settings, run_tasks, tasks_max, shutdown=shutdown)
        cycles = Cycles(nursery, runner.check, settings.interval_secs, shutdown, settings.wait_secs)
        cycles.start()
        log.info("nursery_started", master=settings.spark_master, meta=settings.meta_address)
        shutdown.wait()
        has_ended = cycles.end(settings.drain_secs, lambda: runner.cancel_all(job.LABELS))
        nursery.close()
    is_clean = _is_clean(cycles.error, has_ended)
    log.info("nursery_stopped")
    return is_clean


def _is_clean(error: BaseException | None, has_ended: bool) -> bool:
    """Log an unrequested end of the cycles; raises an error that only an operator can mend."""
    if isinstance(error, RunnerDied):
        log.error("runner_died", error=str(error))
    elif error is not None:
        raise error
    elif not has_ended:
        log.warning("cycle_abandoned")
    return error is None and has_ended
