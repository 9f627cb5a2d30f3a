"""Ends streams whose collector died, after committing babies that it had put."""

from collections.abc import Iterator

import structlog

from dataplane.baby_facts import read_baby
from meta.client import MetaClient
from meta.errors import OffsetTaken, StopMismatch
from meta.v1 import nursery_pb2
from nursery.planning.snapshot import StreamInfo
from segments.keys import BabyKey, baby_key, baby_prefix, parse_key
from segments.store.interface import ObjectInfo, ObjectStore

log = structlog.get_logger()


def stop_dead(client: MetaClient, store: ObjectStore, info: StreamInfo, timeout_nanos: int) -> None:
    """End a stream whose collector is silent: commit the tail it left, then mark it stopped.

    The tail ends at the first hole or stop message: babies beyond it were never acknowledged. A
    tail with a baby younger than the timeout belongs to a live collector that cannot reach meta.
    """
    committed = info.stream.committed_offset
    tail = list(_tail(store, info.stream_id, committed + 1))
    # Times are those of the store's clock, like the babies' times; the database's may be far off.
    silent_since = store.now_nanos() - timeout_nanos
    if any(listed.modified_at_nanos > silent_since for listed in tail):
        log.info("silent_stream_written", stream_id=info.stream_id)
        return
    committed = _commit_tail(client, store, info.stream_id, committed + 1, len(tail))
    try:
        client.nursery.MarkStreamStopped(
            nursery_pb2.MarkStreamStoppedRequest(
                stream_id=info.stream_id,
                final_offset=committed,
                reason=nursery_pb2.STOP_REASON_TIMEOUT,
            )
        )
    except StopMismatch:
        # Its collector is back, or another nursery was faster.
        return
    log.info(
        "dead_stream_stopped",
        stream_id=info.stream_id,
        adopted=committed - info.stream.committed_offset,
    )


def _commit_tail(
    client: MetaClient, store: ObjectStore, stream_id: str, first: int, count: int
) -> int:
    """Commit babies in order, up to a stop message; returns the last committed offset."""
    for offset in range(first, first + count):
        baby = read_baby(store, stream_id, offset)
        try:
            client.ingestion.CommitOffset(baby.facts.request(stream_id, offset))
        except OffsetTaken:
            # A collector committed it with other facts (ADR 6).
            log.info("offset_taken", stream_id=stream_id, offset=offset)
        if baby.is_stop:
            return offset
    return first + count - 1


def _tail(store: ObjectStore, stream_id: str, first: int) -> Iterator[ObjectInfo]:
    """The babies from offset `first` to the first hole."""
    start_after = baby_key(stream_id, first - 1) if first > 0 else ""
    for expected, listed in enumerate(store.list(baby_prefix(stream_id), start_after), first):
        key = parse_key(listed.key)
        if not isinstance(key, BabyKey) or key.offset != expected:
            return
        yield listed
