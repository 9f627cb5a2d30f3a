"""Locks and reads what registrations are checked against, for many calls in one statement."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.registration import conservation
from meta.store.registration.calls import BatchCall, DatasetRow, Merge, MoveCount
from meta.store.registration.parts import COLUMNS
from meta.store.streams import merged_offsets

_COLUMNS = "".join(f", {name}" for name in COLUMNS)
_NULLS = ", NULL" * len(COLUMNS)
_LOCK_DATASETS = text(f"""
    SELECT id, key{_COLUMNS} FROM datasets
    WHERE deleted_at IS NULL AND id = ANY(cast(:datasets AS uuid[]))
    ORDER BY id FOR KEY SHARE
""")  # noqa: S608
# One round trip in place of four. Datasets are locked first, then entries, sorted, so that two
# merges over the same entries wait for one another and do not deadlock. Both are locked as they are
# when the locks are had; heads and baby segments are read as of the statement's begin, and a caller
# names only offsets that it has seen committed before.
# An entry stands where the caller saw it if nothing between there and the stored offset may be its
# own. A baby without stamps may hold records of any dataset. Entries, heads and moves are answered
# by the number of their move: ids would be parsed and compared for each.
_LOCK = text(f"""
    WITH live AS MATERIALIZED (
      SELECT id, key{_COLUMNS} FROM datasets
      WHERE deleted_at IS NULL AND id = ANY(cast(:datasets AS uuid[]))
      ORDER BY id FOR KEY SHARE
    ), entries AS MATERIALIZED (
      SELECT n, s, d, a - 1 AS seen, merged_offset FROM stream_datasets
        JOIN unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]), cast(:starts AS bigint[]))
          WITH ORDINALITY AS k (s, d, a, n) ON stream_id = s AND dataset_id = d
      WHERE (SELECT count(*) FROM live) >= 0
      ORDER BY stream_id, dataset_id FOR UPDATE OF stream_datasets
    )
    SELECT 'dataset' AS kind, id, key::bigint AS number, cast(NULL AS bigint) AS value,
           cast(NULL AS bigint) AS babies, cast(NULL AS boolean) AS is_counted{_COLUMNS}
    FROM live
    UNION ALL
    SELECT 'entry', NULL, n, CASE WHEN merged_offset < seen AND EXISTS (
        SELECT FROM ingest_streams i JOIN stream_heads h ON h.stream_id = i.id
        WHERE i.id = s AND seen <= h.committed_offset AND NOT EXISTS (
          SELECT FROM baby_segments b WHERE b.stream_id = s AND b."offset" <= seen
            AND b."offset" > greatest(merged_offset, i.deleted_offset, h.merged_floor)
            AND {merged_offsets.may_be_of("d")}))
      THEN seen ELSE merged_offset END, NULL, NULL{_NULLS}
    FROM entries
    UNION ALL
    SELECT 'head', NULL, n, committed_offset, NULL, NULL{_NULLS} FROM stream_heads
      JOIN unnest(cast(:streams AS uuid[])) WITH ORDINALITY AS k (s, n) ON stream_id = s
    UNION ALL
    (SELECT 'move', NULL, n, records, babies, is_counted{_NULLS}
     FROM unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]), cast(:starts AS bigint[]),
                 cast(:ends AS bigint[])) WITH ORDINALITY AS move (s, d, a, e, n)
          CROSS JOIN LATERAL (
            SELECT count(*) AS babies,
                   bool_and(b.size_bytes = 0
                            OR (b.dataset_ids IS NOT NULL AND b.num_records > 0)) AS is_counted,
                   coalesce(sum(b.num_records) FILTER (
                     WHERE b.dataset_ids IS NULL OR d = ANY(b.dataset_ids)), 0)::bigint AS records
            FROM baby_segments b WHERE b.stream_id = s AND b."offset" >= a AND b."offset" <= e) f
     ORDER BY n)
""")  # noqa: S608


def lock_calls(tx: Transaction, merges: Sequence[Merge]) -> list[BatchCall]:
    """Lock the datasets and entries of calls, and read what else they are checked against."""
    counted = [conservation.is_counted(merge) for merge in merges]
    moves = [
        (is_counted, move)
        for merge, is_counted in zip(merges, counted, strict=True)
        for move in merge.moves
    ]
    values = {
        "streams": pg_arrays.uuids([move.stream_id for _, move in moves]),
        "datasets": pg_arrays.uuids([move.dataset_id for _, move in moves]),
        "starts": pg_arrays.numbers([move.offsets.start for _, move in moves]),
        # Nothing is at or below -1: no baby segment is read for a call without segments.
        "ends": pg_arrays.numbers([move.offsets.end if counted else -1 for counted, move in moves]),
    }
    rows_of_datasets = dict[UUID, DatasetRow]()
    merged: list[int | None] = [None] * len(moves)
    committed = merged.copy()
    counts = [MoveCount(0, 0, is_counted=False)] * len(moves)
    rows = tx.execute(_LOCK, values).all()
    for kind, dataset_id, number, value, babies, is_counted, *columns in rows:
        if kind == "move":
            counts[number - 1] = MoveCount(value, babies, bool(is_counted))
        elif kind == "entry":
            merged[number - 1] = value
        elif kind == "head":
            committed[number - 1] = value
        else:
            rows_of_datasets[dataset_id] = _dataset_row(number, columns)
    calls, first = [], 0
    for merge, is_counted in zip(merges, counted, strict=True):
        end = first + len(merge.moves)
        own_counts = counts[first:end] if is_counted else ()
        dataset = rows_of_datasets.get(merge.dataset_id)
        calls.append(BatchCall(merge, dataset, merged[first:end], committed[first:end], own_counts))
        first = end
    return calls


def lock_datasets(tx: Transaction, merges: Sequence[Merge]) -> list[BatchCall]:
    """Lock the live datasets of calls that move no offsets."""
    ids = pg_arrays.uuids(dict.fromkeys(merge.dataset_id for merge in merges))
    rows = {
        dataset_id: _dataset_row(key, columns)
        for dataset_id, key, *columns in tx.execute(_LOCK_DATASETS, {"datasets": ids})
    }
    return [BatchCall(merge, rows.get(merge.dataset_id)) for merge in merges]


def _dataset_row(key: int, columns: Sequence[Any]) -> DatasetRow:
    return DatasetRow(key, dict(zip(COLUMNS, columns, strict=True)))
