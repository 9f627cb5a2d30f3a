"""RegisterMergedSegment: segments become visible and offsets move, many calls in a transaction.

A registration remembers which babies a segment holds. It is how a repeated call is recognised, how
LocateOffset finds a record, and how GetOffsetsAt knows an old version's offsets.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import text

from meta.access import NO_CALLER, AuditCaller
from meta.errors import KeyTaken, MetaError, NotFound, OffsetConflict, OffsetNotCommitted
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.registration import conservation, registration_rows
from meta.store.registration.conservation import RecordBound
from meta.store.segments import segments
from meta.store.segments.segments import Claim, NewSegment
from meta.store.streams.stream_datasets import EntryMove
from meta.store.versions.versions import Version

# Most current offsets that a refusal carries.
CURRENT_VALUES_MAX = 32
# Records and number of the baby segments of a move, and whether each is counted.
_Count: TypeAlias = tuple[int, int, bool]


@dataclass(frozen=True, slots=True)
class RegistrationState:
    """Live datasets and entries, which are locked now, and heads, which only rise.

    `dataset_keys` are of live datasets. `calls` are in order, each with the offsets of its moves.
    """

    dataset_keys: Mapping[UUID, int]
    calls: Sequence["CallState"]


class CallState(NamedTuple):
    """Offsets and records that one call is checked against.

    `merged` and `committed` are the offsets of its moves' entries and heads, in order; None = there
    is none. A call whose baby rows are not all there has no `bound`.
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
# A baby without stamps may hold records of any dataset. Entries, heads and moves are answered by
# the number of their move: ids would be parsed and compared for each.
_LOCK = text("""
    WITH live AS MATERIALIZED (
      SELECT id, key FROM datasets
      WHERE deleted_at IS NULL AND id = ANY(cast(:datasets AS uuid[]))
      ORDER BY id FOR KEY SHARE
    ), entries AS MATERIALIZED (
      SELECT n, merged_offset FROM stream_datasets
        JOIN unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]))
          WITH ORDINALITY AS k (s, d, n) ON stream_id = s AND dataset_id = d
      WHERE (SELECT count(*) FROM live) >= 0
      ORDER BY stream_id, dataset_id FOR UPDATE OF stream_datasets
    )
    SELECT 'dataset' AS kind, id, key::bigint AS number, cast(NULL AS bigint) AS value,
           cast(NULL AS bigint) AS babies, cast(NULL AS boolean) AS is_counted
    FROM live
    UNION ALL
    SELECT 'entry', NULL, n, merged_offset, NULL, NULL FROM entries
    UNION ALL
    SELECT 'head', NULL, n, committed_offset, NULL, NULL FROM stream_heads
      JOIN unnest(cast(:streams AS uuid[])) WITH ORDINALITY AS k (s, n) ON stream_id = s
    UNION ALL
    (SELECT 'move', NULL, n, records, babies, is_counted
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
    merged: list[int | None] = [None] * len(moves)
    committed = merged.copy()
    counts: list[_Count] = [(0, 0, False)] * len(moves)
    for kind, dataset_id, number, value, babies, is_counted in tx.execute(_LOCK, values).all():
        if kind == "move":
            counts[number - 1] = value, babies, bool(is_counted)
        elif kind == "entry":
            merged[number - 1] = value
        elif kind == "head":
            committed[number - 1] = value
        else:
            dataset_keys[dataset_id] = number
    states, first = [], 0
    for call in calls:
        end = first + len(call.moves)
        bound = _bound(call, counts[first:end]) if call.are_counted else None
        states.append(CallState(merged[first:end], committed[first:end], bound))
        first = end
    return RegistrationState(dataset_keys, states)


def _bound(call: Moves, counts: Sequence[_Count]) -> RecordBound | None:
    """The bound of a counted call: the sum over its moves."""
    spans = sum([move.offsets.num_offsets for move in call.moves])
    if sum([babies for _, babies, _ in counts]) != spans:
        return None
    records = sum([records for records, _, _ in counts])
    return RecordBound(records, all(is_counted for _, _, is_counted in counts))


@dataclass(frozen=True, slots=True)
class Merge:
    """One call: segments of one dataset (none = offsets only), and what they move."""

    dataset_id: UUID
    segments: tuple[NewSegment, ...]
    moves: tuple[EntryMove, ...]
    # A batch serves many callers, and runs in the context of none.
    caller: AuditCaller = NO_CALLER


_FURTHER = text(
    "SELECT segment_id FROM registration_segments"
    " WHERE first_segment_id = ANY(cast(:ids AS uuid[]))"
)
_OF_MOVES = text(
    "SELECT r.stream_id, r.dataset_id, r.start_offset, r.end_offset, r.segment_id, r.version"
    " FROM registrations r JOIN unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]),"
    "  cast(:ends AS bigint[])) AS k (s, d, b)"
    " ON r.stream_id = s AND r.dataset_id = d AND r.end_offset = b"
)


def keys(merge: Merge) -> list[Hashable]:
    """The conflict keys of a call: its entries and object keys."""
    return [*(move.key for move in merge.moves), *(s.object_key for s in merge.segments)]


def register(tx: Transaction, merge: Merge) -> Version:
    """Register one call; answers the version that shows it, raises its refusal."""
    (answer,) = register_batch(tx, [merge])
    if isinstance(answer, MetaError):
        raise answer
    return answer


def register_batch(tx: Transaction, batch: Sequence[Merge]) -> list[Version | MetaError]:
    """Register calls that share no entry and no object key, all at one version.

    Each is answered in order: the version that shows it, or what it is refused for, in which case
    nothing of it happens.
    """
    calls = [Moves(merge.moves, bool(merge.segments)) for merge in batch]
    state = lock_state(tx, calls)
    claims = _claim(tx, batch, state)
    answers: list[Version | MetaError | None] = [
        _decide(tx, merge, own, call, is_live=merge.dataset_id in state.dataset_keys)
        or conservation.refusal(tx, merge.dataset_id, _events(merge), call.bound, merge.caller)
        for merge, own, call in zip(batch, claims, state.calls, strict=True)
    ]
    refused = [own for own, answer in zip(claims, answers, strict=True) if answer is not None]
    segments.release(tx, [claimed for own in refused for claimed in own])
    fresh = [
        (merge, own)
        for merge, own, answer in zip(batch, claims, answers, strict=True)
        if answer is None
    ]
    if not fresh:
        return [answer for answer in answers if answer is not None]
    version = write(tx, fresh)
    return [version if answer is None else answer for answer in answers]


def write(tx: Transaction, fresh: Sequence[tuple[Merge, Sequence[Claim]]]) -> Version:
    """Write calls that are checked, their entries locked and their keys claimed, at one version."""
    return registration_rows.write(tx, [(merge.moves, claims) for merge, claims in fresh])


def _claim(
    tx: Transaction, batch: Sequence[Merge], state: RegistrationState
) -> list[tuple[Claim, ...]]:
    """Claim the keys of all calls of live datasets, at once and so in one order."""
    live = [merge.segments if merge.dataset_id in state.dataset_keys else () for merge in batch]
    new = [segment for own in live for segment in own]
    claims = segments.claim(tx, new, state.dataset_keys) if new else ()
    ends = list(accumulate(map(len, live)))
    return [claims[end - len(own) : end] for own, end in zip(live, ends, strict=True)]


def _decide(
    tx: Transaction, merge: Merge, claims: Sequence[Claim], call: CallState, *, is_live: bool
) -> Version | MetaError | None:
    """The answer of a call that writes nothing; None = everything about it is in order."""
    if not is_live:
        return NotFound("there is no such dataset", dataset_id=merge.dataset_id)
    if (refusal := next((c.refusal for c in claims if c.refusal is not None), None)) is not None:
        return refusal
    is_known = any(claimed.registered_at is not None for claimed in claims)
    if is_known or (not claims and _is_moved(merge, call)):
        version = _remembered(tx, merge, claims)
        if version is not None:
            return version
    if is_known:
        return KeyTaken(
            "the object key is registered for other offsets",
            object_key=merge.segments[0].object_key,
        )
    return _refused_moves(merge, call)


def _is_moved(merge: Merge, call: CallState) -> bool:
    moves = zip(merge.moves, call.merged, strict=True)
    return all(merged == move.offsets.end for move, merged in moves)


def _refused_moves(merge: Merge, call: CallState) -> MetaError | None:
    for move, committed in zip(merge.moves, call.committed, strict=True):
        if committed is None:
            return NotFound("there is no such stream", stream_id=move.stream_id)
    moved = [
        (move, merged)
        for move, merged in zip(merge.moves, call.merged, strict=True)
        if merged != move.offsets.start - 1
    ]
    if moved:
        # gRPC refuses metadata above 8 KiB.
        current = {
            f"merged_offset.{move.stream_id}": "no entry" if merged is None else merged
            for move, merged in moved[:CURRENT_VALUES_MAX]
        }
        return OffsetConflict(
            f"{len(moved)} of {len(merge.moves)} merged offsets are not what they were",
            dataset_id=merge.dataset_id,
            **current,
        )
    for move, committed in zip(merge.moves, call.committed, strict=True):
        if committed is not None and move.offsets.end > committed:
            return OffsetNotCommitted(
                f"the committed offset is {committed}, below {move.offsets.end}",
                stream_id=move.stream_id,
                committed_offset=committed,
            )
    return None


def _events(merge: Merge) -> int:
    return sum([segment.number_of_events for segment in merge.segments])


def _remembered(tx: Transaction, merge: Merge, claims: Sequence[Claim]) -> Version | None:
    """The version of an earlier call that made exactly these moves with these segments."""
    rows = tx.execute(_OF_MOVES, registration_rows.move_columns(merge.moves)).all()
    moves = {(*move.key, move.offsets.start - 1, move.offsets.end) for move in merge.moves}
    # Of further segments, 0.1.0 stored a row per move too.
    stored_ids = {row.segment_id for row in rows}
    pairs = {(r.stream_id, r.dataset_id, r.start_offset, r.end_offset, r.segment_id) for r in rows}
    if pairs != {(*move, segment_id) for move in moves for segment_id in stored_ids}:
        return None
    firsts = pg_arrays.uuids([i for i in stored_ids if i is not None])
    further = set(tx.execute(_FURTHER, {"ids": firsts}).scalars())
    requested_ids: set[UUID | None] = {claimed.segment_id for claimed in claims}
    stored_versions = {row.version for row in rows}
    if stored_ids | further != (requested_ids or {None}) or len(stored_versions) != 1:
        return None
    return Version(stored_versions.pop())
