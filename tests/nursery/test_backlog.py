"""Batches grow with what waits, follow one another without a pause, and stop when nothing does."""

from collections.abc import Sequence

from meta.process.shutdown import Shutdown
from meta.v1 import segment_lookup_pb2
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery
from nursery.planning.tasks import Task
from nursery.serving import Cycles
from segments.location import Stores
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, run_here, texts
from tests.support.waiting import wait_until

FOR_EVER = 10_000.0


class Jobs:
    """Runs tasks here and notes how many babies each job had."""

    def __init__(self) -> None:
        self.babies: list[int] = []

    def run(self, tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        if tasks:
            self.babies.append(len({(r.stream_id, r.offset) for t in tasks for r in t.reads}))
        return run_here(tasks, where)


def files(collector: CollectorDriver) -> int:
    request = segment_lookup_pb2.FindSegmentsRequest()
    return len(collector.client.segment_lookup.FindSegments(request).segments)


def test_what_waits_becomes_one_batch_and_one_file(collector: CollectorDriver) -> None:
    jobs = Jobs()
    driver = nursery(collector.client, jobs.run)
    for number in range(3):
        collector.send(f"steady {number}")
        driver.cycle()
    for number in range(40):
        collector.send(f"behind {number}")

    assert not driver.cycle()

    assert jobs.babies == [1, 1, 1, 40]
    assert files(collector) == 4
    assert len(texts(collector)) == 43


def test_a_backlog_above_a_batch_is_merged_batch_by_batch_until_its_end(
    collector: CollectorDriver,
) -> None:
    jobs = Jobs()
    driver = nursery(collector.client, jobs.run, batch_babies_max=8)
    for number in range(20):
        collector.send(f"behind {number}")

    more = [driver.cycle() for _ in range(3)]
    collector.send("steady")
    more.append(driver.cycle())

    assert jobs.babies == [8, 8, 4, 1]
    assert more == [True, True, False, False]
    assert len(texts(collector)) == 21


def test_young_babies_wait_for_company_and_a_backlog_does_not(collector: CollectorDriver) -> None:
    jobs = Jobs()
    driver = nursery(collector.client, jobs.run, wait_secs=FOR_EVER, batch_bytes_min=2_000)
    collector.send("young")
    driver.cycle()
    assert jobs.babies == []

    collector.send("x" * 2_000)
    driver.cycle()

    assert jobs.babies == [2]


def test_a_number_of_records_is_merged_without_waiting(collector: CollectorDriver) -> None:
    jobs = Jobs()
    driver = nursery(collector.client, jobs.run, wait_secs=FOR_EVER, batch_records_min=3)
    for number in range(3):
        driver.cycle()
        assert jobs.babies == []
        collector.send(f"record {number}")

    driver.cycle()

    assert jobs.babies == [3]


def test_there_is_no_pause_between_the_batches_of_a_backlog(collector: CollectorDriver) -> None:
    for number in range(10):
        collector.send(f"behind {number}")
    shutdown, jobs = Shutdown(), Jobs()
    driver = nursery(collector.client, jobs.run, batch_babies_max=2)
    cycles = Cycles(driver, lambda: None, FOR_EVER, shutdown)
    cycles.start()

    wait_until(lambda: len(texts(collector)) == 10, "the backlog is merged", seconds=60)

    shutdown.request()
    assert cycles.end(60.0, lambda: None)
    assert jobs.babies == [2] * 5


def test_a_job_is_run_only_when_something_came(collector: CollectorDriver) -> None:
    # On the same stream, so that its offset moves too, over babies with nothing for it.
    idle = CollectorDriver(collector.client, dataset(collector.client), collector.collector_id)
    jobs = Jobs()
    driver = nursery(collector.client, jobs.run)
    cycle_often(driver)
    assert jobs.babies == []

    collector.send("came")
    cycle_often(driver)

    assert jobs.babies == [1]
    assert texts(collector) == ["came"]
    assert set(idle.merged().values()) == {0}


def cycle_often(driver: Nursery) -> None:
    for _ in range(5):
        driver.cycle()
