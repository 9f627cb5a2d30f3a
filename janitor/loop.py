"""The janitor's schedule: every job has an interval and a thread of its own."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from janitor import jobs
from janitor.config import Settings
from janitor.jobs import Tools
from meta import metrics
from meta.client import MetaClient, location
from meta.errors import DeletionHeld, MetaError
from meta.process import Shutdown, every
from meta.v1.ingestion_pb2 import DownloadConfigRequest
from segments.errors import StoreError, StoreUnusable
from segments.location import StoreLocation
from segments.store.open import open_store

log = structlog.get_logger()
META_RETRY_SECS = 1.0


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
        Job("collect_orphans", settings.orphan_interval_secs, jobs.collect_orphans),
        Job("abort_uploads", settings.upload_interval_secs, jobs.abort_uploads),
        Job("measure_clocks", settings.clock_interval_secs, jobs.measure_clocks),
    )


def run(settings: Settings, shutdown: Shutdown) -> None:
    """Run all jobs until shutdown, then wait for each to finish its step.

    Raises StoreUnusable if the store cannot serve.
    """
    with MetaClient(settings.meta_address, auth_token=settings.meta_auth_token) as meta:
        meta_location = _ask_location(meta, settings, shutdown)
        if meta_location is None:
            return
        store = open_store(settings.object_store or meta_location)
        store.probe()
        tools = Tools(meta, store, meta_location, settings, shutdown)
        log.info("janitor_started", object_store=store.location.url())
        # A thread each: a sweep over a large store must not delay planning and deletion.
        threads = [
            threading.Thread(target=repeat, args=(job, tools), name=job.name)
            for job in schedule(settings)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    log.info("janitor_stopped")


def repeat(job: Job, tools: Tools) -> None:
    """Run one job at its interval until shutdown."""
    for _ in every(job.interval_secs, tools.shutdown):
        run_once(job, tools)


def run_once(job: Job, tools: Tools) -> bool:
    """Run one job; a failure is logged, counted, and retried at the next interval."""
    started = time.monotonic()
    # `chore` is the field's name in release 0.1.0, kept for one release.
    job_log = log.bind(job=job.name, chore=job.name)
    try:
        job.run(tools)
    except DeletionHeld as error:
        job_log.warning("deletion_held", error=str(error))
    except StoreUnusable as error:
        job_log.error("chore_failed", error=str(error))
    except (MetaError, StoreError) as error:
        job_log.warning("chore_failed", error=str(error))
    except Exception:  # noqa: BLE001 - the top of a job; counted below
        job_log.exception("chore_failed")
    else:
        metrics.JANITOR_CHORE_SECONDS.labels(job.name).observe(time.monotonic() - started)
        return True
    metrics.JANITOR_CHORE_FAILURES.labels(job.name).inc()
    return False


def _ask_location(meta: MetaClient, settings: Settings, shutdown: Shutdown) -> StoreLocation | None:
    """Learn from meta where the objects are; waits for meta, None on shutdown."""
    for _ in every(META_RETRY_SECS, shutdown):
        try:
            reply = meta.ingestion.DownloadConfig(DownloadConfigRequest(worker_id="janitor"))
            return location(reply.cloud_object_prefix.bucket)
        except MetaError as error:
            log.warning("waiting_for_meta", meta_address=settings.meta_address, error=str(error))
    return None
