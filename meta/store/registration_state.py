"""The state that registrations are checked against, locked and read in one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store import pg_arrays
from meta.store.conservation import RecordBound
from meta.store.engine import Transaction
from meta.store.stream_datasets import EntryMove, Key


@dataclass(frozen=True, slots=True)
class RegistrationState:
    """Live datasets and entries, which are locked now, and heads, which only rise.

    `dataset_keys` are of live datasets, `merged` and `committed` are offsets of those that exist.
    `bounds` are of calls by their index; one whose baby rows are not all there has none.
    """

    dataset_keys: Mapping[UUID, int]
    merged: Mapping[Key, int]
    committed: Mapping[UUID, int]
    bounds: Mapping[int, RecordBound]


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves of one call; `are_counted` if its events have to be within their records."""

    moves: Sequence[EntryMove]
    are_counted: bool


# One round trip in place of four. Datasets are locked first, then entries, sorted, so that two
# merges over the same entries wait for one another and do not deadlock. Both are locked as they are
# when the locks are had; heads and baby segments are read as of the statement's begin, and a caller
# names only offsets that it has seen committed before.
# A baby without stamps may hold records of any dataset.
_LOCK = text("""
    WITH live AS MATERIALIZED (
      SELECT id, key FROM datasets
      WHERE deleted_at IS NULL AND id = ANY(cast(:datasets AS uuid[]))
      ORDER BY id FOR KEY SHARE
    ), entries AS MATERIALIZED (
      SELECT stream_id, dataset_id, merged_offset FROM stream_datasets
        JOIN unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[])) AS k (s, d)
          ON stream_id = s AND dataset_id = d
      WHERE (SELECT count(*) FROM live) >= 0
      ORDER BY stream_id, dataset_id FOR UPDATE OF stream_datasets
    )
    SELECT 'dataset' AS kind, id AS first_id, cast(NULL AS uuid) AS second_id,
           key::bigint AS value, cast(NULL AS bigint) AS babies, cast(NULL AS boolean) AS is_counted
    FROM live
    UNION ALL
    SELECT 'entry', stream_id, dataset_id, merged_offset, NULL, NULL FROM entries
    UNION ALL
    SELECT 'head', stream_id, NULL, committed_offset, NULL, NULL FROM stream_heads
    WHERE stream_id = ANY(cast(:streams AS uuid[]))
    UNION ALL
    (SELECT 'move', NULL, NULL, records, babies, is_counted
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
""")


def lock(tx: Transaction, calls: Sequence[Moves]) -> RegistrationState:
    """Lock the datasets and entries of calls, and read what else they are checked against."""
    moves = [(call.are_counted, move) for call in calls for move in call.moves]
    values = {
        "streams": pg_arrays.uuids([move.stream_id for _, move in moves]),
        "datasets": pg_arrays.uuids([move.dataset_id for _, move in moves]),
        "starts": pg_arrays.numbers([move.offsets.start for _, move in moves]),
        # Nothing is at or below -1: no baby segment is read for a call without segments.
        "ends": pg_arrays.numbers([move.offsets.end if counted else -1 for counted, move in moves]),
    }
    dataset_keys, merged, committed = dict[UUID, int](), dict[Key, int](), dict[UUID, int]()
    counts: list[tuple[int, int, bool]] = []
    for kind, first_id, second_id, value, babies, is_counted in tx.execute(_LOCK, values).all():
        if kind == "move":
            counts.append((value, babies, bool(is_counted)))
        elif kind == "entry":
            merged[first_id, second_id] = value
        elif kind == "head":
            committed[first_id] = value
        else:
            dataset_keys[first_id] = value
    return RegistrationState(dataset_keys, merged, committed, _bounds(calls, counts))


def _bounds(
    calls: Sequence[Moves], counts: Sequence[tuple[int, int, bool]]
) -> Mapping[int, RecordBound]:
    """The bound of each counted call: the sum over its moves."""
    bounds: dict[int, RecordBound] = {}
    first = 0
    for number, call in enumerate(calls):
        own = counts[first : first + len(call.moves)]
        first += len(call.moves)
        spans = sum(move.offsets.num_offsets for move in call.moves)
        if call.are_counted and sum(babies for _, babies, _ in own) == spans:
            records = sum(records for records, _, _ in own)
            bounds[number] = RecordBound(records, all(counted for _, _, counted in own))
    return bounds
