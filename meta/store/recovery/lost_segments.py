"""Registers merged segments that the bucket has and a restored database does not know.

Their babies are missing: nothing else has their records. All of it is one transaction, which first
compares the input of its plan: the offsets of streams and entries, and the live segments.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import insert, text

from meta.errors import RaceLost
from meta.store.access import audit
from meta.store.deletion import retention, tombstones
from meta.store.engine.pool import Transaction
from meta.store.lookup import lineage
from meta.store.merging import merge_tasks
from meta.store.recovery import rebuild, restored_streams, unknown_streams
from meta.store.recovery.rebuild import RestoredSegment
from meta.store.recovery.restored_streams import registration_row
from meta.store.segments import burial, segments, stats
from meta.store.streams import merged_offsets
from meta.store.tables.segments import registrations, segment_lineage
from meta.store.versions import versions
from meta.store.versions.versions import Version
from segments.inventory.streams import BabyFound, EndedStream, StreamEntry
from segments.keys import join_key

_STREAMS = """
    SELECT i.id::text, h.committed_offset, i.deleted_offset, i.stopped_offset,
           i.retired_at IS NOT NULL
    FROM stream_heads h JOIN ingest_streams i ON i.id = h.stream_id WHERE i.id = ANY(:ids)
    ORDER BY h.stream_id
"""
_READ_STREAMS = text(_STREAMS)
_LOCK_STREAMS = text(f"{_STREAMS} FOR UPDATE")
_ENTRIES = """
    SELECT stream_id::text, dataset_id::text, merged_offset FROM stream_datasets
    WHERE stream_id = ANY(:ids) ORDER BY stream_id, dataset_id
"""
_READ_ENTRIES = text(_ENTRIES)
_LOCK_ENTRIES = text(f"{_ENTRIES} FOR UPDATE")
_DATASET = text("SELECT key, deleted_at IS NOT NULL FROM datasets WHERE id = :id")
_LIVE = text("""
    SELECT id, prefix, object_name FROM segments
    WHERE dataset_key = :key AND tombstone_version IS NULL ORDER BY id
""")
_LOCK_LIVE = text("""
    SELECT count(*) FROM (
      SELECT id FROM segments WHERE id = ANY(:ids) AND tombstone_version IS NULL FOR UPDATE) s
""")
_ADVANCE = text("""
    UPDATE stream_heads SET committed_offset = :committed, is_pending = true
    WHERE stream_id = :stream
""")
_REAP = text("""
    UPDATE ingest_streams SET deleted_offset = :deleted, changed_version = :version
    WHERE id = :stream
""")
_REAP_BABIES = text("""
    UPDATE baby_segments SET reaped_at = now()
    WHERE stream_id = :stream AND "offset" <= :deleted AND reaped_at IS NULL
""")
_MOVE = text("""
    INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,
      changed_version)
    VALUES (:stream, :dataset, :merged, -1, :version)
    ON CONFLICT (stream_id, dataset_id)
    DO UPDATE SET merged_offset = excluded.merged_offset, changed_version = :version
""")


@dataclass(frozen=True, slots=True)
class StreamState:
    """A known stream; `merged` are the stored offsets of its entries by dataset."""

    committed: int
    deleted: int
    stopped: int | None
    is_retired: bool
    merged: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A live segment and its object."""

    id: UUID
    object_key: str


@dataclass(frozen=True, slots=True)
class ReturnedStream:
    """A stream of returned segments: its new offsets, and the babies to commit up to them.

    `before` is the state that this was planned from, None for a stream that is not known. `ends`
    are the merged offsets by dataset.
    """

    id: UUID
    before: StreamState | None
    committed: int
    deleted: int
    babies: tuple[BabyFound, ...]
    ends: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Returned:
    """Everything that comes back at one version; `linked` are pairs of replaced id and new key."""

    segments: tuple[RestoredSegment, ...]
    streams: tuple[ReturnedStream, ...]
    replaced_ids: tuple[UUID, ...]
    links: tuple[tuple[UUID, str], ...]
    # Those of the replaced whose objects are missing.
    missing_ids: tuple[UUID, ...] = ()


def read_states(tx: Transaction, stream_ids: Sequence[str]) -> dict[str, StreamState]:
    """The states of the streams that are known."""
    return _states(tx, stream_ids, is_locked=False)


def live_keys(tx: Transaction, dataset_id: str) -> list[LiveKey] | None:
    """The live segments of a dataset, [] for one that is not known; None if it is deleted."""
    row = tx.execute(_DATASET, {"id": UUID(dataset_id)}).one_or_none()
    if row is None or row[1]:
        return [] if row is None else None
    rows = tx.execute(_LIVE, {"key": row[0]})
    return [LiveKey(i, join_key(prefix, name)) for i, prefix, name in rows]


def is_known_dataset(tx: Transaction, dataset_id: str) -> bool:
    """True if the database has a row of a dataset."""
    return tx.execute(_DATASET, {"id": UUID(dataset_id)}).one_or_none() is not None


def spans_of(tx: Transaction, segment_id: UUID) -> list[tuple[str, int, int]]:
    """The stream, first and last offset of the registrations that a segment comes from."""
    spans = lineage.spans_of(tx, segment_id)
    return [(span.stream_id, span.start, span.end) for span in spans]


def add_dataset(tx: Transaction, dataset_id: str) -> None:
    """Write a dataset that is not known."""
    if not is_known_dataset(tx, dataset_id):
        version = versions.allocate(tx)
        rebuild.insert_awaited(tx, UUID(dataset_id), version)


def bring_back(tx: Transaction, returned: Returned) -> Version:
    """Register all that comes back. Raises RaceLost if it was planned from another state."""
    _compare(tx, returned)
    streams = [stream for stream in returned.streams if stream.before is not None]
    rows = [EndedStream(str(stream.id), -1, -1, (), stream.babies) for stream in streams]
    restored_streams.write_babies(tx, rows)
    claims = segments.claim(tx, [segment.new for segment in returned.segments])
    segments.raise_refusal(claims)
    stats.add(tx, merge_tasks.cancel(tx, retention.lock_tasks(tx, returned.replaced_ids)))
    audit.note(tx, "segplane catalog reconcile", "segments", f"{len(returned.segments)} segments")
    version = versions.allocate(tx)
    for count in sorted({segment.merge_count for segment in returned.segments}):
        pairs = zip(claims, returned.segments, strict=True)
        same_count = [claim for claim, segment in pairs if segment.merge_count == count]
        segments.insert(tx, same_count, version, merge_count=count)
    ids = {claim.new.object_key: claim.segment_id for claim in claims}
    rebuild.fill_segments(tx, [(item, ids[item.new.object_key]) for item in returned.segments])
    _write_registrations(tx, returned, ids, version)
    for stream in returned.streams:
        write_stream(tx, stream, version)
    burial.bury(tx, returned.replaced_ids, version)
    if returned.links:
        links = [{"input_id": old, "output_id": ids[key]} for old, key in returned.links]
        tx.execute(insert(segment_lineage), links)
    tombstones.forget_missing(tx, returned.missing_ids, version)
    return version


def _compare(tx: Transaction, returned: Returned) -> None:
    """Lock everything that is changed; raise RaceLost unless it is as it was planned from."""
    check_streams(tx, returned.streams)
    live = tx.execute(_LOCK_LIVE, {"ids": list(returned.replaced_ids)}).scalar_one()
    if live != len(returned.replaced_ids):
        raise RaceLost("segments have changed meanwhile: run it again")


def check_streams(tx: Transaction, streams: Sequence[ReturnedStream]) -> None:
    """Lock streams; raise RaceLost unless they are as they were planned from."""
    before = {str(s.id): s.before for s in streams if s.before is not None}
    if _states(tx, [str(s.id) for s in streams], is_locked=True) != before:
        raise RaceLost("streams have changed meanwhile: run it again")


def _states(
    tx: Transaction, stream_ids: Sequence[str], *, is_locked: bool
) -> dict[str, StreamState]:
    ids = {"ids": [UUID(stream_id) for stream_id in stream_ids]}
    rows = tx.execute(_LOCK_STREAMS if is_locked else _READ_STREAMS, ids).all()
    merged: dict[str, dict[str, int]] = {row[0]: {} for row in rows}
    for stream_id, dataset_id, offset in tx.execute(
        _LOCK_ENTRIES if is_locked else _READ_ENTRIES, ids
    ):
        merged[stream_id][dataset_id] = offset
    return {
        stream_id: StreamState(committed, deleted, stopped, is_retired, merged[stream_id])
        for stream_id, committed, deleted, stopped, is_retired in rows
    }


def _write_registrations(
    tx: Transaction, returned: Returned, ids: Mapping[str, UUID], version: Version
) -> None:
    """One row for each segment and stream whose offset moves: from the stored offset to the end."""
    streams = {stream.id: stream for stream in returned.streams}
    parts: Counter[tuple[UUID, UUID]] = Counter()
    rows: list[dict[str, object]] = []
    for segment in returned.segments:
        dataset_id = segment.new.dataset_id
        for stream_id in sorted({span[0] for span in segment.spans}):
            stream = streams.get(stream_id)
            if stream is None or str(dataset_id) not in stream.ends:
                continue
            start, end = offsets = _move(stream, str(dataset_id))
            if end <= start:
                continue
            segment_id = ids[segment.new.object_key]
            row = registration_row(stream_id, dataset_id, offsets, version, segment_id)
            rows.append({**row, "part": parts[stream_id, dataset_id]})
            parts[stream_id, dataset_id] += 1
    restored_streams.insert_rows(tx, insert(registrations), rows)


def _move(stream: ReturnedStream, dataset_id: str) -> tuple[int, int]:
    before = stream.before.merged.get(dataset_id, -1) if stream.before else -1
    return before, max(before, stream.ends[dataset_id])


def write_stream(tx: Transaction, stream: ReturnedStream, version: Version) -> None:
    """Move the offsets of a locked stream whose babies are written, or write it ended."""
    if stream.before is None:
        entries = tuple(StreamEntry(dataset_id, end) for dataset_id, end in stream.ends.items())
        row = EndedStream(str(stream.id), stream.committed, stream.deleted, entries, stream.babies)
        restored_streams.write_babies(tx, [row])
        unknown_streams.write(tx, row, version)
        return
    key = {"stream": stream.id, "version": version}
    tx.execute(_ADVANCE, {**key, "committed": stream.committed})
    for dataset_id in stream.ends:
        start, end = _move(stream, dataset_id)
        if end > start or dataset_id not in stream.before.merged:
            values = {**key, "dataset": UUID(dataset_id), "merged": end, "at": 0}
            tx.execute(_MOVE, values)
            tx.execute(restored_streams.CHECKPOINT, values)
    # A dataset that has not merged all that is missing does not pass it: nurseries park the stream.
    lowest = merged_offsets.lowest_of(tx, stream.id)
    reaped = {**key, "deleted": stream.deleted if lowest is None else min(stream.deleted, lowest)}
    tx.execute(_REAP_BABIES, reaped)
    tx.execute(_REAP, reaped)
