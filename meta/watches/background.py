"""Background jobs of a server: each repeats in a thread of its own, whatever its runs raise."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from meta import metrics
from meta.errors import MetaError
from meta.process import Shutdown, every

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Work that is repeated with a pause between its runs."""

    name: str
    pause_secs: float
    run: Callable[[], None]


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
    for _ in every(job.pause_secs, shutdown):
        attempt(job.name, job.run)


def attempt(name: str, run: Callable[[], None]) -> bool:
    """Run some work once; count and log its failure. True if it succeeded.

    The event and its field `chore` have their names of release 0.1.0.
    """
    try:
        run()
    except MetaError as error:
        log.warning("chore_failed", job=name, chore=name, error=str(error))
    except Exception:
        log.exception("chore_failed", job=name, chore=name)
    else:
        metrics.BACKGROUND_SUCCESS.labels(name).set(time.time())
        return True
    metrics.BACKGROUND_FAILURES.labels(name).inc()
    return False
