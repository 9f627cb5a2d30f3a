"""Deletes merged baby segments, retires drained entries, and ends streams whose collector died."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

from meta import metrics
from meta.client import MetaClient
from meta.errors import NotDrained, NotFound, StopMismatch
from meta.v1 import ingestion_pb2, nursery_pb2
from nursery.execute import Budget, execute
from nursery.snapshot import StreamInfo
from nursery.tasks import BabyRead, Routes, Task
from segments.combined import decode_baby
from segments.errors import CorruptObject, ObjectMissing
from segments.keys import BabyKey, baby_key, baby_prefix, parse_key
from segments.store import ObjectStore

log = structlog.get_logger()
_DELETE_KEYS_MAX = 1_000
# Nothing is decoded or held when all that is done is putting aside.
_NO_BUDGET = Budget(decode_bytes_max=1, held_bytes_max=1)


def reap(client: MetaClient, store: ObjectStore, info: StreamInfo) -> int:
    """Delete the babies that every dataset has merged past, then say so; returns how many.

    A crash in between deletes them again: absent is fine.
    """
    first, last = info.deleted_offset + 1, info.reapable_offset
    if last < first:
        return 0
    if not info.stream.merged and not _put_aside(store, info, range(first, last + 1)):
        return 0
    last_time = _modified_at(store, baby_key(info.stream_id, last))
    for start in range(first, last + 1, _DELETE_KEYS_MAX):
        end = min(start + _DELETE_KEYS_MAX, last + 1)
        store.delete([baby_key(info.stream_id, offset) for offset in range(start, end)])
    try:
        client.nursery.UpdateDeletedOffset(
            nursery_pb2.UpdateDeletedOffsetRequest(
                stream_id=info.stream_id, deleted_offset=last, deleted_ingest_time_nanos=last_time
            )
        )
    except (NotDrained, NotFound) as error:
        # Meta named the offset, so only a stream that retired meanwhile ends here.
        log.info("reap_refused", stream_id=info.stream_id, reason=error.reason)
        return 0
    metrics.REAPED_BABIES.inc(last - first + 1)
    return last - first + 1


def retire(client: MetaClient, info: StreamInfo, routed_dataset_ids: frozenset[str]) -> list[str]:
    """Remove the entries for which nothing more will come; returns their datasets."""
    removed = []
    for dataset_id, merged in info.stream.merged.items():
        is_drained = merged == info.deleted_offset and merged == info.stream.committed_offset
        has_ended = info.stopped_offset == merged or (
            not info.is_stopped and dataset_id not in routed_dataset_ids
        )
        if not is_drained or not has_ended:
            continue
        request = nursery_pb2.DeleteIngestStreamDatasetRequest(
            stream_id=info.stream_id,
            dataset_id=dataset_id,
            current_offset=info.stream.committed_offset,
            merged_offset=merged,
        )
        try:
            client.nursery.DeleteIngestStreamDataset(request)
        except (NotDrained, NotFound):
            continue
        removed.append(dataset_id)
        log.info("entry_retired", stream_id=info.stream_id, dataset_id=dataset_id)
    return removed


def stop_dead(client: MetaClient, store: ObjectStore, info: StreamInfo) -> None:
    """End a stream whose collector is silent: commit the tail it left, then mark it stopped.

    The tail ends at the first hole: what lies beyond it was never acknowledged.
    """
    committed = info.stream.committed_offset
    for request in _tail(store, info.stream_id, committed):
        client.ingestion.CommitOffset(request)
        committed = request.committed_offset
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


def _tail(
    store: ObjectStore, stream_id: str, committed: int
) -> Iterator[ingestion_pb2.CommitOffsetRequest]:
    """Commits for the babies above `committed`, in order."""
    expected = committed + 1
    start_after = baby_key(stream_id, committed) if committed >= 0 else ""
    for found in store.list(baby_prefix(stream_id), start_after):
        key = parse_key(found.key)
        if not isinstance(key, BabyKey) or key.offset != expected:
            return
        body = store.get(found.key)
        try:
            baby = decode_baby(body)
        except CorruptObject:
            return
        start_time, end_time = baby.time_range()
        yield ingestion_pb2.CommitOffsetRequest(
            stream_id=stream_id,
            committed_offset=expected,
            start_time=start_time,
            end_time=end_time,
            size_bytes=len(body),
            num_records=baby.num_records,
            flush_id=baby.flush_id,
            dataset_ids=baby.dataset_ids,
        )
        if baby.is_stop:
            return
        expected += 1


def _put_aside(store: ObjectStore, info: StreamInfo, offsets: Sequence[int]) -> bool:
    """Quarantine babies of a stream without any dataset; true if all of them are safe."""
    task = Task(
        works=(),
        reads=tuple(BabyRead(info.stream_id, offset, is_owner=True) for offset in offsets),
        routes=(Routes(info.stream_id, {}, info.stream.periods),),
    )
    with tempfile.TemporaryDirectory(prefix="segplane-nursery-") as folder:
        result = execute(task, store, _NO_BUDGET, Path(folder))
    for cause, count in result.quarantined:
        metrics.QUARANTINED_SLICES.labels(cause).inc(count)
        log.warning("slices_quarantined", cause=cause, count=count, stream_id=info.stream_id)
    return not result.unreadable


def _modified_at(store: ObjectStore, key: str) -> int:
    try:
        return store.head(key).modified_at_nanos
    except ObjectMissing:
        return 0
