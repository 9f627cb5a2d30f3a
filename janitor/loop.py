"""The janitor's schedule: every job has an interval and its own thread."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from dataplane import meta_connection
from dataplane.location import Locator
from dataplane.reporting import Reporter, process_report
from janitor import jobs
from janitor.config import Settings
from janitor.footers import read_footers
from janitor.jobs import Tools
from janitor.vacuums import carry_out_vacuums
from meta import metrics
from meta.client import MetaClient
from meta.errors import DeletionHeld, MetaError
from meta.process.shutdown import Shutdown
from meta.self_report import Progress
from segments.errors import StoreError, StoreUnusable
from segments.ids import new_uuid7
from segments.location import Stores
from segments.store.open import open_stores

log = structlog.get_logger()
# From a job's failure to its next run, unless its interval is shorter or it failed before, too.
AGAIN_SECS = 60.0


@dataclass(frozen=True, slots=True)
class Job:
    """A function and its interval."""

    name: str
    interval_secs: float
    run: Callable[[Tools], None]


def schedule(settings: Settings) -> tuple[Job, ...]:
    """All jobs with their intervals."""
    return (
        Job("plan_merges", settings.merge_interval_secs, jobs.plan_merges),
        Job("delete_tombstoned", settings.deletion_interval_secs, jobs.delete_tombstoned),
        Job("carry_out_vacuums", settings.vacuum_interval_secs, carry_out_vacuums),
        Job("delete_table_metadata", settings.deletion_interval_secs, jobs.delete_table_metadata),
        Job("collect_orphans", settings.orphan_interval_secs, jobs.collect_orphans),
        Job("forget_streams", settings.orphan_interval_secs, jobs.forget_streams),
        Job("abort_uploads", settings.upload_interval_secs, jobs.abort_uploads),
        Job("scrub", settings.scrub_interval_secs, jobs.RestingScrub()),
        Job("read_footers", settings.footer_interval_secs, read_footers),
        Job("measure_clocks", settings.clock_interval_secs, jobs.measure_clocks),
    )


def run(settings: Settings, shutdown: Shutdown) -> None:
    """Run all jobs until shutdown, then wait for each to finish its step.

    Raises StoreUnusable if the store cannot serve.
    """
    with meta_connection.connect(settings) as meta:
        locator = Locator(meta, "janitor", settings.object_store)
        if not locator.wait(shutdown):
            return
        toolbox = Toolbox(meta, locator, settings, shutdown)
        log.info("janitor_started", object_store=toolbox.tools().store.location.url())
        # A thread each: a sweep over a large store must not delay planning and deletion.
        progress = Progress()
        threads = [
            threading.Thread(
                target=repeat, args=(job, toolbox.tools, shutdown, progress), name=job.name
            )
            for job in schedule(settings)
        ]
        for thread in threads:
            thread.start()
        reporter = Reporter(process_report("janitor", settings, progress), locator).start()
        for thread in threads:
            thread.join()
        reporter.end()
    log.info("janitor_stopped")


class Toolbox:
    """Dependencies of the jobs at the current location of objects; shared by their threads."""

    def __init__(
        self, meta: MetaClient, locator: Locator, settings: Settings, shutdown: Shutdown
    ) -> None:
        self._shutdown = shutdown
        self._meta = meta
        self._locator = locator
        self._settings = settings
        self._lock = threading.Lock()
        self._probed: Stores | None = None
        self._janitor_id = str(new_uuid7())

    def tools(self) -> Tools:
        """Open the store that meta names. Raises MetaError, StoreUnusable if it cannot serve."""
        self._locator.refresh()
        with self._lock:
            stores = self._locator.stores
            store = open_stores(stores)
            if stores != self._probed:
                store.probe()
                self._probed = stores
            location = self._locator.known
            return Tools(
                self._meta, store, location.stores, self._settings, self._shutdown, self._janitor_id
            )


def repeat(
    job: Job, tools: Callable[[], Tools], shutdown: Shutdown, progress: Progress | None = None
) -> None:
    """Run one job at its interval until shutdown.

    The second of two failures in a row is reported. The first one may be a restart of meta, so the
    job runs again soon.
    """
    progress = progress or Progress()
    failures = 0
    while not shutdown.is_requested:
        failure = run_once(job, tools)
        failures = failures + 1 if failure else 0
        if not failure:
            progress.made(job.name, job.name)
        elif failures > 1:
            progress.failed(failure, job.name)
        shutdown.wait(min(AGAIN_SECS, job.interval_secs) if failures == 1 else job.interval_secs)


def run_once(job: Job, tools: Callable[[], Tools]) -> str:
    """Run one job; returns why it failed, "" if it did not. A failure is logged and counted."""
    started = time.monotonic()
    job_log = log.bind(job=job.name)
    failures = metrics.JANITOR_CHORE_FAILURES.labels(job.name)
    try:
        job.run(tools())
    except DeletionHeld as error:
        # An operator's decision, or that of a restore: the job did all that it may.
        job_log.warning("deletion_held", error=str(error))
        failure = ""
    except StoreUnusable as error:
        job_log.error("chore_failed", error=str(error))
        failure = str(error)
    except (MetaError, StoreError) as error:
        job_log.warning("chore_failed", error=str(error))
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - the top of a job; counted below
        job_log.exception("chore_failed")
        failure = repr(error)
    else:
        metrics.JANITOR_CHORE_SECONDS.labels(job.name).observe(time.monotonic() - started)
        return ""
    failures.inc()
    return failure
