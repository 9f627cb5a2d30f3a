"""Rows of streams that come from the bucket: ended ones, with the babies that are still there."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Executable, insert

from meta.store.engine.pool import Transaction
from meta.store.tables.streams import (
    baby_segments,
    ingest_streams,
    offset_checkpoints,
    stream_datasets,
    stream_heads,
)
from meta.store.versions.versions import Version
from segments.inventory.streams import EndedStream

ROWS_AT_ONCE = 1_000
# A collector that comes back registers for a stream of its own.
COLLECTOR = "rebuilt from the bucket"
_STOPPED_BY_TIMEOUT = 2
EPOCH = datetime.fromtimestamp(0, UTC)

Item = TypeVar("Item")


def write_babies(tx: Transaction, streams: Sequence[EndedStream]) -> None:
    """Write the babies of streams; readers and nurseries see them once the streams are there."""
    insert_rows(
        tx,
        insert(baby_segments),
        [
            {
                "stream_id": UUID(stream.stream_id),
                "offset": baby.offset,
                "start_ns": baby.start_time,
                "end_ns": baby.end_time,
                "size_bytes": baby.size_bytes,
                "num_records": baby.num_records,
                "flush_id": baby.flush_id or None,
                "dataset_ids": [UUID(i) for i in sorted(baby.dataset_ids or ())] or None,
                "committed_at": moment(baby.modified_at_nanos),
            }
            for stream in streams
            for baby in stream.babies
        ],
    )


def write_streams(
    tx: Transaction,
    streams: Sequence[EndedStream],
    version: Version,
    *,
    collector: str = COLLECTOR,
    stopped_at_nanos: int,
) -> None:
    """Write streams and their entries at a version that is drawn by now, but not their babies."""
    insert_rows(
        tx,
        insert(ingest_streams),
        [
            {
                "id": UUID(stream.stream_id),
                "collector_id": collector,
                "collector_string": collector,
                "shard_hash": UUID(stream.stream_id).int & 0x7FFFFFFF,
                "stopped_at_nanos": stopped_at_nanos,
                "stopped_offset": stream.committed_offset,
                "stop_reason": _STOPPED_BY_TIMEOUT,
                "deleted_offset": stream.deleted_offset,
                "changed_version": version,
            }
            for stream in streams
        ],
    )
    heads = (
        {"stream_id": UUID(s.stream_id), "committed_offset": s.committed_offset} for s in streams
    )
    common = {"is_stopped": True, "is_pending": True}
    insert_rows(tx, insert(stream_heads), [{**head, **common} for head in heads])
    _write_entries(tx, streams, version)


def _write_entries(tx: Transaction, streams: Sequence[EndedStream], version: Version) -> None:
    """Write entries, and for each the one checkpoint that is known: that of now."""
    entries = [(UUID(stream.stream_id), entry) for stream in streams for entry in stream.entries]
    keys = [{"stream_id": s, "dataset_id": UUID(e.dataset_id)} for s, e in entries]
    offsets = [
        {
            "merged_offset": e.merged_offset,
            "merged_ingest_time_nanos": e.ingest_time_nanos,
            "base_offset": -1,
            "changed_version": version,
        }
        for _, e in entries
    ]
    checkpoints = [
        {
            "version": version,
            "stream_offset": e.merged_offset,
            "ingest_timestamp_nanos": e.ingest_time_nanos,
        }
        for _, e in entries
    ]
    insert_rows(tx, insert(stream_datasets), _joined(keys, offsets))
    insert_rows(tx, insert(offset_checkpoints), _joined(keys, checkpoints))


def _joined(
    keys: Sequence[Mapping[str, object]], values: Sequence[Mapping[str, object]]
) -> list[Mapping[str, object]]:
    return [{**key, **value} for key, value in zip(keys, values, strict=True)]


def insert_rows(
    tx: Transaction, statement: Executable, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert rows, some at a time."""
    for some in slices(rows):
        tx.execute(statement, [dict(row) for row in some])


def moment(nanos: int) -> datetime:
    """Return a time of nanoseconds since 1970."""
    return EPOCH + timedelta(microseconds=nanos // 1_000)


def slices(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut items into what one statement writes."""
    for start in range(0, len(items), ROWS_AT_ONCE):
        yield items[start : start + ROWS_AT_ONCE]
