"""CommitOffset: babies that become acknowledged, many in one statement.

The order of checks is the contract's: replay, taken, stopped, gap, and only then the commit.
`commit_one` does them all. `commit_batch` writes only what passes them at first sight: the next
offset of an open stream that no other call has locked, with all its entries. That is nearly every
call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.errors import MetaError, NotFound, OffsetGap, OffsetTaken, StreamStopped
from meta.store.catalog import usage
from meta.store.engine import continuity, pg_arrays
from meta.store.engine.driver_statements import Execute
from meta.store.engine.pool import Transaction
from meta.store.streams import stream_datasets, streams
from meta.store.streams.stream_datasets import NewEntry
from meta.store.streams.streams import Head
from meta.store.versions import versions


class OffsetCommit(NamedTuple):
    """A baby segment that is complete in the store; flush_id b"" = its collector has none.

    `dataset_ids` are its stamps, empty for an unstamped baby; `dataset_records` counts each's.
    `crc32c` is that of the object's bytes; None = its collector does not say. (A tuple: it is made
    in a third of the time, and a batch of them is turned into columns in one go.)
    """

    stream_id: UUID
    offset: int
    start_ns: int
    end_ns: int
    size_bytes: int
    num_records: int
    flush_id: bytes
    dataset_ids: tuple[UUID, ...]
    dataset_records: tuple[int, ...]
    crc32c: int | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The stream's committed offset now, and the stamped datasets that get no records of it.

    They no longer exist, or are foreign: none of the stream's tokens routes there.
    """

    committed_offset: int
    deleted_dataset_ids: tuple[UUID, ...] = ()
    foreign_dataset_ids: tuple[UUID, ...] = ()


_BABY = text(
    "SELECT start_ns, end_ns, size_bytes, num_records, flush_id"
    ' FROM baby_segments WHERE stream_id = :stream AND "offset" = :offset'
)
_FLUSHES = text(
    'SELECT "offset", flush_id FROM baby_segments WHERE stream_id = :stream'
    ' AND "offset" BETWEEN :first AND :last AND flush_id IS NOT NULL ORDER BY "offset"'
)
# One statement locks, checks and writes, in one round trip. Its snapshot may be
# older than the locks it gets. The head is read again under its lock. Entries may have been removed
# since the snapshot, and then removal_count, which the subquery reads in the snapshot, differs. (In
# plain driver text: SQLAlchemy's own handling costs more than the rest.)
_COMMIT_BATCH = """
WITH asked AS MATERIALIZED (
  SELECT * FROM unnest(%(streams)s::uuid[], %(offsets)s::bigint[], %(starts)s::bigint[],
    %(ends)s::bigint[], %(sizes)s::bigint[], %(records)s::bigint[], %(flushes)s::bytea[],
    %(stamps)s::text[], %(shares)s::text[], %(crcs)s::bigint[])
  AS a (s, o, start_ns, end_ns, size, records, flush, stamps, shares, crc)),
held AS MATERIALIZED (
  SELECT a.*, h.committed_offset, h.is_stopped, h.removal_count, (
    SELECT x.removal_count FROM stream_heads x WHERE x.stream_id = a.s) AS seen_count
  FROM asked a JOIN stream_heads h ON h.stream_id = a.s FOR UPDATE OF h SKIP LOCKED),
fresh AS MATERIALIZED (
  SELECT * FROM held AS a
  WHERE o = committed_offset + 1 AND NOT is_stopped AND removal_count = seen_count
    AND (stamps = '{}' OR NOT EXISTS (SELECT FROM unnest(stamps::uuid[]) AS d WHERE NOT EXISTS (
      SELECT FROM stream_datasets e WHERE e.stream_id = a.s AND e.dataset_id = d)))),
babies AS (
  INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
    flush_id, dataset_ids, committed_at, crc32c)
  SELECT s, o, start_ns, end_ns, size, records, flush, nullif(stamps, '{}')::uuid[],
    clock_timestamp(), crc FROM fresh),
counted AS (
  INSERT INTO dataset_usage (dataset_id, month, slot, records)
  SELECT d, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), %(slot)s, sum(n)
  FROM fresh, unnest(stamps::uuid[], shares::bigint[]) AS p (d, n)
  WHERE n > 0 GROUP BY d ORDER BY d
  ON CONFLICT (dataset_id, month, slot)
  DO UPDATE SET records = dataset_usage.records + excluded.records)
UPDATE stream_heads h SET committed_offset = o, last_activity_at = clock_timestamp(),
  is_pending = true FROM fresh WHERE h.stream_id = s RETURNING h.stream_id
"""
_INSERT_BABY = text(
    'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,'
    " flush_id, dataset_ids, committed_at, crc32c) VALUES (:stream, :offset, :start, :end, :size,"
    " :records, :flush, nullif(:stamps, '{}')::uuid[], clock_timestamp(), :crc)"
)


def commit_batch(execute: Execute, batch: Sequence[OffsetCommit]) -> list[Committed | None]:
    """Commit babies of different streams; each is answered in order.

    Waits for no lock. None is the answer to a commit that `commit_one` has to look at: a replay, a
    refusal, a stream that someone holds, a stamped dataset without an entry.
    """
    streams, offsets, starts, ends, sizes, records, flushes, stamps, _, crcs = zip(
        *batch, strict=True
    )
    values = {
        "streams": pg_arrays.uuids(streams),
        "offsets": pg_arrays.numbers(offsets),
        "starts": pg_arrays.numbers(starts),
        "ends": pg_arrays.numbers(ends),
        "sizes": pg_arrays.numbers(sizes),
        "records": pg_arrays.numbers(records),
        "flushes": pg_arrays.bytes_or_null(flushes),
        "stamps": pg_arrays.texts([pg_arrays.uuids(ids) if ids else "{}" for ids in stamps]),
        "shares": pg_arrays.texts(
            [pg_arrays.numbers(_shares(c)) if c.dataset_ids else "{}" for c in batch]
        ),
        "crcs": pg_arrays.numbers_or_null(crcs),
        "slot": usage.lane_slot(),
    }
    written = frozenset([row[0] for row in execute(_COMMIT_BATCH, values)])
    return [Committed(c.offset) if c.stream_id in written else None for c in batch]


def commit_one(tx: Transaction, commit: OffsetCommit) -> Committed:
    """Commit one baby, making the entries that its stamps lack; raises its refusal.

    A foreign dataset, to which none of the stream's tokens routes, gets no entry and no usage.
    """
    # Datasets come first in the order of locks.
    live = stream_datasets.lock_live_datasets(tx, commit.dataset_ids)
    deleted = tuple(d for d in commit.dataset_ids if d not in live)
    heads = streams.lock_heads(tx, [commit.stream_id])
    if commit.stream_id not in heads:
        raise NotFound("there is no such stream", stream_id=commit.stream_id)
    head = heads[commit.stream_id]
    foreign = stream_datasets.find_foreign(tx, commit.stream_id, live)
    foreign_ids = tuple(d for d in commit.dataset_ids if d in foreign)
    if commit.offset <= head.committed_offset and _is_replay(tx, commit):
        return Committed(head.committed_offset, deleted, foreign_ids)
    refusal = _refusal(commit, head)
    if refusal is not None:
        continuity.look_soon(tx.info)
        raise refusal
    followed = live - foreign
    entries = [NewEntry(commit.stream_id, d, commit.offset - 1) for d in sorted(followed)]
    made = stream_datasets.create_missing(tx, entries)
    _write(tx, commit)
    shares = zip(commit.dataset_ids, _shares(commit), strict=True)
    usage.add(tx, {dataset_id: n for dataset_id, n in shares if dataset_id in followed})
    continuity.note_change(tx.info)
    if made:
        stream_datasets.stamp(tx, made, versions.allocate(tx))
    return Committed(commit.offset, deleted, foreign_ids)


def list_flushes(
    tx: Transaction, stream_id: UUID, first_offset: int, last_offset: int
) -> list[tuple[int, bytes]]:
    """List (offset, flush id) of the commits in a range that are kept and have a flush id."""
    values = {"stream": stream_id, "first": first_offset, "last": last_offset}
    return [(row.offset, bytes(row.flush_id)) for row in tx.execute(_FLUSHES, values)]


def _refusal(commit: OffsetCommit, head: Head) -> MetaError | None:
    """The refusal of a commit that is not a replay, or None."""
    following = head.committed_offset + 1
    if commit.offset < following:
        return OffsetTaken(
            f"offset {commit.offset} was committed by another flush",
            stream_id=commit.stream_id,
            next_offset=following,
        )
    if head.is_stopped:
        return StreamStopped(
            f"the stream stopped at offset {head.committed_offset}",
            stream_id=commit.stream_id,
            stopped_offset=head.committed_offset,
        )
    if commit.offset > following:
        return OffsetGap(
            f"offset {following} is not committed yet",
            stream_id=commit.stream_id,
            expected_offset=following,
        )
    return None


def _is_replay(tx: Transaction, commit: OffsetCommit) -> bool:
    """True if the committed baby is this one: its four facts, and the flush id if both have one.

    A baby that is no longer remembered matches no commit.
    """
    key = {"stream": commit.stream_id, "offset": commit.offset}
    baby = tx.execute(_BABY, key).one_or_none()
    if baby is None:
        return False
    *facts, flush_id = baby
    if commit.flush_id and flush_id and commit.flush_id != bytes(flush_id):
        return False
    return facts == [commit.start_ns, commit.end_ns, commit.size_bytes, commit.num_records]


def _write(tx: Transaction, commit: OffsetCommit) -> None:
    """Insert the baby and move the locked head."""
    values = {
        "stream": commit.stream_id,
        "offset": commit.offset,
        "start": commit.start_ns,
        "end": commit.end_ns,
        "size": commit.size_bytes,
        "records": commit.num_records,
        "flush": commit.flush_id or None,
        "stamps": pg_arrays.uuids(commit.dataset_ids),
        "crc": commit.crc32c,
    }
    tx.execute(_INSERT_BABY, values)
    streams.advance(tx, commit.stream_id, commit.offset)


def _shares(commit: OffsetCommit) -> tuple[int, ...]:
    """Records per stamped dataset: as the collector counted them, else spread evenly."""
    if commit.dataset_records or not commit.dataset_ids:
        return commit.dataset_records
    share, remainder = divmod(commit.num_records, len(commit.dataset_ids))
    return tuple(share + (index < remainder) for index in range(len(commit.dataset_ids)))
