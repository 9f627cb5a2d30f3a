"""The end of streams: deletes merged babies, retires drained entries, stops dead streams."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

from dataplane.babies.reads import Routes, TaskRead
from dataplane.baby_facts import read_baby
from dataplane.deletion_permit import DeletionPermit
from meta.client import MetaClient
from meta.errors import NotDrained, NotFound, OffsetTaken, StopMismatch
from meta.v1 import nursery_pb2
from nursery import metrics
from nursery.execution.execute import Budget, execute
from nursery.lifecycle.parked import ParkedStreams
from nursery.planning.snapshot import StreamInfo
from nursery.planning.tasks import Task
from segments.errors import ObjectMissing
from segments.keys import BabyKey, baby_key, baby_prefix, parse_key
from segments.store.interface import ObjectInfo, ObjectStore

log = structlog.get_logger()
_DELETE_KEYS_MAX = 1_000
# A task that only quarantines decodes and holds nothing.
_NO_BUDGET = Budget(decode_bytes_max=1, held_bytes_max=1)


def reap(
    client: MetaClient,
    store: ObjectStore,
    info: StreamInfo,
    parked: ParkedStreams,
    permit: DeletionPermit,
) -> int:
    """Delete the babies that every dataset has merged, then report it; returns how many.

    Those that a backup keeps are left to the janitor, which deletes them after its end. After a
    crash in between they are deleted again, which is not an error.
    """
    first, last = info.deleted_offset + 1, info.reapable_offset
    last = min(last, parked.offsets().get(info.stream_id, last + 1) - 1)
    if last < first:
        return 0
    if not info.has_entries and not _quarantine_all(store, info, range(first, last + 1), parked):
        return 0
    last_time = _modified_at(store, baby_key(info.stream_id, last))
    for start in range(first, last + 1, _DELETE_KEYS_MAX):
        end = min(start + _DELETE_KEYS_MAX, last + 1)
        if not permit.is_valid():
            return 0
        keys = [baby_key(info.stream_id, offset) for offset in _unkept(info, range(start, end))]
        if keys:
            store.delete(keys)
    try:
        client.nursery.UpdateDeletedOffset(
            nursery_pb2.UpdateDeletedOffsetRequest(
                stream_id=info.stream_id, deleted_offset=last, deleted_ingest_time_nanos=last_time
            )
        )
    except (NotDrained, NotFound) as error:
        # Meta named the offset: only a stream that was retired since is refused.
        log.info("reap_refused", stream_id=info.stream_id, reason=error.reason)
        return 0
    metrics.REAPED_BABIES.inc(last - first + 1)
    return last - first + 1


def _unkept(info: StreamInfo, offsets: range) -> Iterator[int]:
    """Skip the offsets that backups keep."""
    for first, last in info.kept_ranges:
        yield from range(offsets.start, min(first, offsets.stop))
        offsets = range(max(offsets.start, min(last + 1, offsets.stop)), offsets.stop)
    yield from offsets


def retire(client: MetaClient, info: StreamInfo) -> list[str]:
    """Delete the entries that will receive no more records; returns their datasets.

    Of the entries that have merged everything a poll has those that no token routes to.
    """
    removed = []
    for dataset_id, merged in info.stream.merged.items():
        is_drained = merged == info.deleted_offset and merged == info.stream.committed_offset
        has_ended = not info.is_stopped or info.stopped_offset == merged
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


def _quarantine_all(
    store: ObjectStore, info: StreamInfo, offsets: Sequence[int], parked: ParkedStreams
) -> bool:
    """Quarantine the babies of a stream without datasets; true if all of them are stored."""
    task = Task(
        works=(),
        reads=tuple(
            TaskRead(info.stream_id, offset, is_owner=True)
            for offset in offsets
            if not parked.is_skipped(info.stream_id, offset)
        ),
        routes=(Routes(info.stream_id, {}, info.stream.periods),),
    )
    with tempfile.TemporaryDirectory(prefix="segplane-nursery-") as folder:
        result = execute(task, store, _NO_BUDGET, Path(folder))
    for cause, count in result.quarantined_payloads:
        metrics.QUARANTINED_SLICES.labels(cause).inc(count)
        log.warning("slices_quarantined", cause=cause, count=count, stream_id=info.stream_id)
    for baby in result.unreadable:
        parked.park(baby)
    return not result.unreadable


def _modified_at(store: ObjectStore, key: str) -> int:
    try:
        return store.head(key).modified_at_nanos
    except ObjectMissing:
        return 0


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
