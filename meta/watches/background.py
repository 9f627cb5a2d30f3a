"""Background jobs of a server: each repeats in its own thread, whatever its runs raise."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from meta import metrics
from meta.errors import MetaError
from meta.process.shutdown import Shutdown

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Work that is repeated with a pause between its runs."""

    name: str
    pause_secs: float
    # False if there was nothing to do: the pauses double up to `idle_secs_max` until there is, and
    # while runs fail.
    run: Callable[[], bool | None]
    idle_secs_max: float = 0.0


def start(jobs: Iterable[BackgroundJob], shutdown: Shutdown) -> list[threading.Thread]:
    """Repeat each job until shutdown; the threads end with their current run."""
    threads = [
        threading.Thread(target=repeat, args=(job, shutdown), name=job.name, daemon=True)
        for job in jobs
    ]
    for thread in threads:
        thread.start()
    return threads


def repeat(job: BackgroundJob, shutdown: Shutdown) -> None:
    """Run a job until shutdown."""
    pause_secs, is_idle = job.pause_secs, False

    def run() -> None:
        nonlocal is_idle
        is_idle = job.run() is False

    while not shutdown.is_requested:
        is_idle = not attempt(job.name, run) or is_idle
        longer_secs = max(job.pause_secs, min(job.idle_secs_max, 2 * pause_secs))
        pause_secs = longer_secs if is_idle else job.pause_secs
        shutdown.wait(pause_secs)


def attempt(name: str, run: Callable[[], object]) -> bool:
    """Run some work once; count and log its failure. True if it succeeded."""
    failures = metrics.BACKGROUND_FAILURES.labels(name)
    try:
        run()
    except MetaError as error:
        log.warning("chore_failed", job=name, error=str(error))
    except Exception:
        log.exception("chore_failed", job=name)
    else:
        metrics.BACKGROUND_SUCCESS.labels(name).set(time.time())
        return True
    failures.inc()
    return False
