"""Locks and reads what registrations are checked against, for many calls in one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.registration.conservation import RecordBound
from meta.store.streams import merged_offsets
from meta.store.streams.stream_datasets import EntryMove

# Records and number of the baby segments of a move, and whether each is counted.
_Count: TypeAlias = tuple[int, int, bool]


@dataclass(frozen=True, slots=True)
class RegistrationState:
    """Live datasets and entries, which are locked now, and heads, which only rise.

    `dataset_keys` are of live datasets, `bound_field_ids` of those that have such columns, and
    `identity_rules` of those that have each event once.
    `calls` are in order, each with the offsets of its moves.
    """

    dataset_keys: Mapping[UUID, int]
    calls: Sequence["CallState"]
    bound_field_ids: Mapping[UUID, Sequence[int]]
    identity_rules: Mapping[UUID, int]


class CallState(NamedTuple):
    """Offsets and records that one call is checked against.

    `merged` and `committed` are the offsets of its moves' entries and heads, in order; None = there
    is none. If an entry's implied offset reaches the offset that the call names, `merged` is that.
    A call whose baby rows are not all there has no `bound`.
    """

    merged: Sequence[int | None]
    committed: Sequence[int | None]
    bound: RecordBound | None


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves of one call; `are_counted` if its events have to be within their records."""

    moves: Sequence[EntryMove]
    are_counted: bool


# One round trip in place of four. Datasets are locked first, then entries, sorted, so that two
# merges over the same entries wait for one another and do not deadlock. Both are locked as they are
# when the locks are had; heads and baby segments are read as of the statement's begin, and a caller
# names only offsets that it has seen committed before.
# An entry stands where the caller saw it if nothing between there and the stored offset may be its
# own. A baby without stamps may hold records of any dataset. Entries, heads and moves are answered
# by the number of their move: ids would be parsed and compared for each.
_LOCK = text(f"""
    WITH live AS MATERIALIZED (
      SELECT id, key, bound_field_ids, identity_rule FROM datasets
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
           cast(NULL AS bigint) AS babies, cast(NULL AS boolean) AS is_counted,
           bound_field_ids, identity_rule
    FROM live
    UNION ALL
    SELECT 'entry', NULL, n, CASE WHEN merged_offset < seen AND EXISTS (
        SELECT FROM ingest_streams i JOIN stream_heads h ON h.stream_id = i.id
        WHERE i.id = s AND seen <= h.committed_offset AND NOT EXISTS (
          SELECT FROM baby_segments b WHERE b.stream_id = s AND b."offset" <= seen
            AND b."offset" > greatest(merged_offset, i.deleted_offset, h.merged_floor)
            AND {merged_offsets.may_be_of("d")}))
      THEN seen ELSE merged_offset END, NULL, NULL, NULL, NULL
    FROM entries
    UNION ALL
    SELECT 'head', NULL, n, committed_offset, NULL, NULL, NULL, NULL FROM stream_heads
      JOIN unnest(cast(:streams AS uuid[])) WITH ORDINALITY AS k (s, n) ON stream_id = s
    UNION ALL
    (SELECT 'move', NULL, n, records, babies, is_counted, NULL, NULL
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


def lock_state(tx: Transaction, calls: Sequence[Moves]) -> RegistrationState:
    """Lock the datasets and entries of calls, and read what else they are checked against."""
    moves = [(call.are_counted, move) for call in calls for move in call.moves]
    values = {
        "streams": pg_arrays.uuids([move.stream_id for _, move in moves]),
        "datasets": pg_arrays.uuids([move.dataset_id for _, move in moves]),
        "starts": pg_arrays.numbers([move.offsets.start for _, move in moves]),
        # Nothing is at or below -1: no baby segment is read for a call without segments.
        "ends": pg_arrays.numbers([move.offsets.end if counted else -1 for counted, move in moves]),
    }
    dataset_keys = dict[UUID, int]()
    bound_field_ids = dict[UUID, Sequence[int]]()
    identity_rules = dict[UUID, int]()
    merged: list[int | None] = [None] * len(moves)
    committed = merged.copy()
    counts: list[_Count] = [(0, 0, False)] * len(moves)
    rows = tx.execute(_LOCK, values).all()
    for kind, dataset_id, number, value, babies, is_counted, bound_ids, rule in rows:
        if kind == "move":
            counts[number - 1] = value, babies, bool(is_counted)
        elif kind == "entry":
            merged[number - 1] = value
        elif kind == "head":
            committed[number - 1] = value
        else:
            dataset_keys[dataset_id] = number
            if bound_ids:
                bound_field_ids[dataset_id] = bound_ids
            if rule is not None:
                identity_rules[dataset_id] = rule
    states, first = [], 0
    for call in calls:
        end = first + len(call.moves)
        bound = _bound(call, counts[first:end]) if call.are_counted else None
        states.append(CallState(merged[first:end], committed[first:end], bound))
        first = end
    return RegistrationState(dataset_keys, states, bound_field_ids, identity_rules)


def _bound(call: Moves, counts: Sequence[_Count]) -> RecordBound | None:
    """The bound of a counted call: the sum over its moves."""
    spans = sum([move.offsets.num_offsets for move in call.moves])
    if sum([babies for _, babies, _ in counts]) != spans:
        return None
    records = sum([records for records, _, _ in counts])
    return RecordBound(records, all(is_counted for _, _, is_counted in counts))
