"""Tending of streams: each is reaped, retired once it is drained, and stopped if it is dead."""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from dataplane.deletion_permit import DeletionPermit
from meta.client import MetaClient
from meta.errors import MetaError
from meta.process.shutdown import Shutdown
from nursery.lifecycle import reaper
from nursery.lifecycle.parked import ParkedStreams
from nursery.planning.snapshot import StreamInfo
from segments.errors import StoreError
from segments.store.interface import ObjectStore

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StreamTender:
    """Tends the streams of a nursery; one that is silent for the timeout is dead, 0 = none is."""

    client: MetaClient
    parked: ParkedStreams
    permit: DeletionPermit
    shutdown: Shutdown
    timeout_secs: float

    def tend(self, streams: Iterable[StreamInfo], store: ObjectStore, now_nanos: int) -> str:
        """Tend streams until shutdown; returns the first error, "" if there was none.

        An error affects one stream only.
        """
        failure = ""
        for info in streams:
            if self.shutdown.is_requested:
                break
            try:
                self._tend_one(info, store, now_nanos)
            except (MetaError, StoreError) as error:
                log.warning("tending_failed", stream_id=info.stream_id, error=str(error))
                failure = failure or f"{type(error).__name__}: {error}"
        return failure

    def _tend_one(self, info: StreamInfo, store: ObjectStore, now_nanos: int) -> None:
        reaped = reaper.reap(self.client, store, info, self.parked, self.permit)
        if reaped:
            log.info("babies_reaped", stream_id=info.stream_id, count=reaped)
        reaper.retire(self.client, info)
        timeout_nanos = int(self.timeout_secs * 1e9)
        may_end = timeout_nanos and not info.is_stopped and not info.awaits_reconcile
        if may_end and now_nanos - info.last_activity > timeout_nanos:
            reaper.stop_dead(self.client, store, info, timeout_nanos)
