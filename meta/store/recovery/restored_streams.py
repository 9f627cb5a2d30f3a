"""Rows of streams that come from the bucket: ended ones, with the babies that are still there."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Executable, insert, text

from meta.store.engine.pool import Transaction
from meta.store.tables.streams import baby_segments, ingest_streams, stream_heads
from meta.store.versions.versions import Version
from segments.inventory.streams import EndedStream

ROWS_AT_ONCE = 1_000
# A collector that comes back registers for its own stream.
COLLECTOR = "rebuilt from the bucket"
_STOPPED_BY_TIMEOUT = 2
EPOCH = datetime.fromtimestamp(0, UTC)
_ENTRY = text("""
    INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, merged_ingest_time_nanos,
      base_offset, changed_version)
    VALUES (:stream, :dataset, :merged, :at, -1, :version)
""")
CHECKPOINT = text("""
    INSERT INTO offset_checkpoints (stream_id, dataset_id, version, stream_offset,
      ingest_timestamp_nanos)
    VALUES (:stream, :dataset, :version, :merged, :at)
""")

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
    rows = [
        {
            "stream": UUID(stream.stream_id),
            "dataset": UUID(entry.dataset_id),
            "merged": entry.merged_offset,
            "at": entry.ingest_time_nanos,
            "version": version,
        }
        for stream in streams
        for entry in stream.entries
    ]
    insert_rows(tx, _ENTRY, rows)
    insert_rows(tx, CHECKPOINT, rows)


def registration_row(
    stream_id: UUID, dataset_id: UUID, offsets: tuple[int, int], version: Version, segment_id: UUID
) -> dict[str, object]:
    """A row of the lineage of a segment that comes from the bucket: offsets (start, end]."""
    return {
        "stream_id": stream_id,
        "dataset_id": dataset_id,
        "start_offset": offsets[0],
        "end_offset": offsets[1],
        "ingest_time_nanos": 0,
        "version": version,
        "segment_id": segment_id,
    }


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
