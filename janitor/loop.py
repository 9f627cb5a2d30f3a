"""The janitor's schedule: every chore has an interval and a thread of its own."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from janitor import chores
from janitor.chores import Tools
from janitor.config import Settings
from meta import metrics
from meta.client import MetaClient, location
from meta.errors import DeletionHeld, MetaError
from meta.process import Shutdown, every
from meta.v1.ingestion_pb2 import DownloadConfigRequest
from segments.errors import StoreError, StoreUnusable
from segments.keys import StoreLocation
from segments.store import open_store

log = structlog.get_logger()
META_RETRY_SECS = 1.0


@dataclass(frozen=True, slots=True)
class Chore:
    """A step that is repeated."""

    name: str
    interval_secs: float
    run: Callable[[Tools], None]


def schedule(settings: Settings) -> tuple[Chore, ...]:
    """All chores with their intervals."""
    return (
        Chore("plan_merges", settings.merge_interval_secs, chores.plan_merges),
        Chore("delete_tombstoned", settings.deletion_interval_secs, chores.delete_tombstoned),
        Chore("collect_orphans", settings.orphan_interval_secs, chores.collect_orphans),
        Chore("abort_uploads", settings.upload_interval_secs, chores.abort_uploads),
    )


def run(settings: Settings, shutdown: Shutdown) -> None:
    """Do all chores until shutdown, then let each finish its step.

    Raises StoreUnusable if the store cannot serve.
    """
    with MetaClient(settings.meta_address, auth_token=settings.meta_auth_token) as meta:
        told = _ask_location(meta, settings, shutdown)
        if told is None:
            return
        store = open_store(settings.object_store or told)
        store.probe()
        tools = Tools(meta, store, told, settings, shutdown)
        log.info("janitor_started", object_store=store.location.url())
        # A sweep over a large store takes long; planning and deletion go on beside it.
        threads = [
            threading.Thread(target=repeat, args=(chore, tools), name=chore.name)
            for chore in schedule(settings)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    log.info("janitor_stopped")


def repeat(chore: Chore, tools: Tools) -> None:
    """Run one chore at its interval until shutdown."""
    for _ in every(chore.interval_secs, tools.shutdown):
        run_once(chore, tools)


def run_once(chore: Chore, tools: Tools) -> bool:
    """Run one chore; a failure is logged and counted, and the next round tries again."""
    started = time.monotonic()
    try:
        chore.run(tools)
    except DeletionHeld as error:
        log.warning("deletion_held", chore=chore.name, error=str(error))
    except StoreUnusable as error:
        log.error("chore_failed", chore=chore.name, error=str(error))
    except (MetaError, StoreError) as error:
        log.warning("chore_failed", chore=chore.name, error=str(error))
    except Exception:
        log.exception("chore_failed", chore=chore.name)
    else:
        metrics.JANITOR_CHORE_SECONDS.labels(chore.name).observe(time.monotonic() - started)
        return True
    metrics.JANITOR_CHORE_FAILURES.labels(chore.name).inc()
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
