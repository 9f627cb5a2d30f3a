"""Streams that wait at a baby segment which cannot be merged now.

meta keeps their ids and reasons for operators; this state is for the planner. A baby segment is
read again before a plan is made, so that a failed attempt costs no other stream anything.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import structlog

from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1 import operations_pb2
from nursery import metrics
from nursery.planning.streams import IngestStream
from nursery.results import UnreadableBaby, unreadable_baby
from segments.errors import CorruptObject, SegmentsError
from segments.keys import baby_key
from segments.store.interface import ObjectStore

log = structlog.get_logger()
# How long a stream waits at an unreadable baby if meta does not say, or says that it is merged.
PARKED_SECS = 10.0
# How long it waits at a baby that alone makes a job fail.
FAILED_JOB_SECS = 300.0
# Babies that are read again before one plan.
_RETRIES_MAX = 8
_REASON_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class _Wait:
    offset: int
    retry_at: float


class ParkedStreams:
    """The lowest offset that each parked stream cannot pass."""

    def __init__(self, client: MetaClient, monotonic: Callable[[], float]) -> None:
        self._client = client
        self._monotonic = monotonic
        self._waits: dict[str, _Wait] = {}
        self._skipped: set[tuple[str, int]] = set()

    def park(self, baby: UnreadableBaby, secs_min: float = 0.0) -> None:
        """Let a stream wait at a baby, unless it was skipped."""
        wait = self._waits.get(baby.stream_id)
        if wait is not None and wait.offset < baby.offset:
            return
        retry_secs = self._report(baby)
        if retry_secs is None:
            self._skipped.add((baby.stream_id, baby.offset))
            self._waits.pop(baby.stream_id, None)
        else:
            retry_at = self._monotonic() + max(retry_secs, secs_min)
            self._waits[baby.stream_id] = _Wait(baby.offset, retry_at)
            log.warning(
                "baby_unreadable",
                stream_id=baby.stream_id,
                offset=baby.offset,
                error=baby.error,
                retry_secs=retry_secs,
            )
        self._count()

    def retry(self, store: ObjectStore) -> None:
        """Read babies again whose time has come; streams whose baby is there are free."""
        now = self._monotonic()
        due = [(s, w) for s, w in self._waits.items() if w.retry_at <= now]
        for stream_id, wait in sorted(due, key=lambda item: item[1].retry_at)[:_RETRIES_MAX]:
            try:
                store.get(baby_key(stream_id, wait.offset))
            except CorruptObject:
                self._release(stream_id)  # The task that reads it quarantines it.
            except SegmentsError as error:
                baby = unreadable_baby(stream_id, wait.offset, error)
                self.park(baby)
                if baby.is_outage:
                    return  # Each of the others would wait for the store's timeout.
            else:
                self._release(stream_id)

    def offsets(self) -> Mapping[str, int]:
        """The offsets that cannot be read now, by stream."""
        return {stream_id: wait.offset for stream_id, wait in self._waits.items()}

    def is_skipped(self, stream_id: str, offset: int) -> bool:
        """Whether an operator has given the baby up."""
        return (stream_id, offset) in self._skipped

    def forget_passed(self, streams: Iterable[IngestStream], *, is_complete: bool) -> None:
        """Forget the streams that are past their baby, and those missing in a complete poll."""
        floors = {stream.stream_id: stream.merged_floor for stream in streams}
        forgotten_through = float("inf") if is_complete else -1
        self._waits = {
            stream_id: wait
            for stream_id, wait in self._waits.items()
            if wait.offset > floors.get(stream_id, forgotten_through)
        }
        if is_complete:
            self._skipped = {pair for pair in self._skipped if pair[0] in floors}
        self._count()

    def _release(self, stream_id: str) -> None:
        wait = self._waits.pop(stream_id)
        log.info("baby_readable_again", stream_id=stream_id, offset=wait.offset)
        self._count()

    def _report(self, baby: UnreadableBaby) -> float | None:
        """Seconds until the next attempt; None if the baby was skipped."""
        request = operations_pb2.ParkStreamRequest(
            stream_id=baby.stream_id,
            offset=baby.offset,
            reason=_printable(baby.error)[:_REASON_CHARACTERS_MAX],
        )
        try:
            reply = self._client.operations.ParkStream(request)
        except MetaError as error:
            # meta is unreachable or refuses: the stream waits all the same.
            log.info("park_failed", stream_id=baby.stream_id, reason=error.reason)
            return PARKED_SECS
        if reply.skipped:
            return None
        return PARKED_SECS if baby.is_outage else max(reply.retry_secs, PARKED_SECS)

    def _count(self) -> None:
        metrics.NURSERY_PARKED_STREAMS.set(len(self._waits))


def _printable(message: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in message)
