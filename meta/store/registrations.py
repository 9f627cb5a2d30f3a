"""RegisterMergedSegment: segments become visible and offsets move, many calls in one transaction.

A registration remembers which babies a segment holds. It is how a repeated call is recognised, how
LocateOffset finds a record, and how GetOffsetsAt knows an old version's offsets.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.errors import KeyTaken, MetaError, NotFound, OffsetConflict, OffsetNotCommitted
from meta.store import (
    conservation,
    datasets,
    pg_arrays,
    segments,
    stats,
    stream_datasets,
    streams,
    versions,
)
from meta.store.engine import Transaction
from meta.store.segments import Claim, NewSegment
from meta.store.stream_datasets import EntryMove, Key
from meta.store.versions import Version

# Rows of more moves are written before the counter is taken.
MOVES_UNDER_COUNTER_MAX = 256
# Most current offsets that a refusal carries.
CURRENT_VALUES_MAX = 32


@dataclass(frozen=True, slots=True)
class Merge:
    """One call: segments of one dataset (none = offsets only), and what they move."""

    dataset_id: UUID
    segments: tuple[NewSegment, ...]
    moves: tuple[EntryMove, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """State that a batch is checked against: the locked entries, and heads, which only rise."""

    merged: Mapping[Key, int]
    committed: Mapping[UUID, int]


# Arrays travel as literals: see meta.store.pg_arrays.
_REMEMBER = text(
    "INSERT INTO registrations (stream_id, dataset_id, start_offset, end_offset,"
    " ingest_time_nanos, version, segment_id, created_at)"
    " SELECT s, d, a, b, t, :version, g, clock_timestamp()"
    " FROM unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]), cast(:starts AS bigint[]),"
    "  cast(:ends AS bigint[]), cast(:times AS bigint[]), cast(:segments AS uuid[]))"
    "  AS new (s, d, a, b, t, g)"
)
_REMEMBER_FURTHER = text(
    "INSERT INTO registration_segments (first_segment_id, segment_id)"
    " SELECT * FROM unnest(cast(:firsts AS uuid[]), cast(:segments AS uuid[]))"
)
_FURTHER = text(
    "SELECT segment_id FROM registration_segments"
    " WHERE first_segment_id = ANY(cast(:ids AS uuid[]))"
)
# The entry's lock makes created_at rise with the version.
_CHECKPOINT = text(
    "INSERT INTO offset_checkpoints (stream_id, dataset_id, version, stream_offset,"
    " ingest_timestamp_nanos, created_at)"
    " SELECT s, d, :version, b, t, clock_timestamp()"
    " FROM unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[]), cast(:ends AS bigint[]),"
    "  cast(:times AS bigint[])) AS new (s, d, b, t)"
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
    live = datasets.lock_live(tx, {merge.dataset_id for merge in batch})
    answers = iter(_register_live(tx, [merge for merge in batch if merge.dataset_id in live]))
    return [
        next(answers)
        if merge.dataset_id in live
        else NotFound("there is no such dataset", dataset_id=merge.dataset_id)
        for merge in batch
    ]


def _register_live(tx: Transaction, batch: Sequence[Merge]) -> list[Version | MetaError]:
    """Register calls whose datasets are live and locked."""
    entries = [move.key for merge in batch for move in merge.moves]
    merged = stream_datasets.lock(tx, entries)
    heads = streams.find_heads(tx, {stream_id for stream_id, _ in entries})
    committed = {head.stream_id: head.committed_offset for head in heads.values()}
    bounds = conservation.bounds(tx, [merge.moves if merge.segments else () for merge in batch])
    state = _State(merged, committed)
    claims = _claim(tx, batch)
    answers: list[Version | MetaError | None] = [
        _decide(tx, merge, own, state)
        or conservation.refusal(tx, merge.dataset_id, _events(merge), bounds.get(number))
        for number, (merge, own) in enumerate(zip(batch, claims, strict=True))
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


def _claim(tx: Transaction, batch: Sequence[Merge]) -> list[tuple[Claim, ...]]:
    """Claim the keys of all calls at once, so that they are locked in one order."""
    new = [segment for merge in batch for segment in merge.segments]
    claims = iter(segments.claim(tx, new) if new else ())
    return [tuple(next(claims) for _ in merge.segments) for merge in batch]


def _decide(
    tx: Transaction, merge: Merge, claims: Sequence[Claim], state: _State
) -> Version | MetaError | None:
    """The answer of a call that writes nothing; None = everything about it is in order."""
    refusal = next((c.refusal for c in claims if c.refusal is not None), None)
    if refusal is not None:
        return refusal
    is_known = any(claimed.registered_at is not None for claimed in claims)
    is_moved = all(state.merged.get(move.key) == move.offsets.end for move in merge.moves)
    if is_known or (is_moved and not claims):
        version = _remembered(tx, merge, claims)
        if version is not None:
            return version
    if is_known:
        return KeyTaken(
            "the object key is registered for other offsets",
            object_key=merge.segments[0].object_key,
        )
    return _refused_moves(merge, state)


def _refused_moves(merge: Merge, state: _State) -> MetaError | None:
    for move in merge.moves:
        if move.stream_id not in state.committed:
            return NotFound("there is no such stream", stream_id=move.stream_id)
    moved = [move for move in merge.moves if state.merged.get(move.key) != move.offsets.start - 1]
    if moved:
        # gRPC refuses metadata above 8 KiB.
        current = {
            f"merged_offset.{move.stream_id}": state.merged.get(move.key, "no entry")
            for move in moved[:CURRENT_VALUES_MAX]
        }
        return OffsetConflict(
            f"{len(moved)} of {len(merge.moves)} merged offsets are not what they were",
            dataset_id=merge.dataset_id,
            **current,
        )
    for move in merge.moves:
        committed = state.committed[move.stream_id]
        if move.offsets.end > committed:
            return OffsetNotCommitted(
                f"the committed offset is {committed}, below {move.offsets.end}",
                stream_id=move.stream_id,
                committed_offset=committed,
            )
    return None


def _events(merge: Merge) -> int:
    return sum(segment.number_of_events for segment in merge.segments)


def _remembered(tx: Transaction, merge: Merge, claims: Sequence[Claim]) -> Version | None:
    """The version of an earlier call that made exactly these moves with these segments."""
    rows = tx.execute(_OF_MOVES, _columns(merge.moves)).all()
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


def write(tx: Transaction, fresh: Sequence[tuple[Merge, Sequence[Claim]]]) -> Version:
    """Write calls that are checked, their entries locked and their keys claimed, at one version."""
    moves = [move for merge, _ in fresh for move in merge.moves]
    # Last of all locks but the statistics; all else that is written is new or locked already.
    is_large = len(moves) > MOVES_UNDER_COUNTER_MAX
    version = versions.reserve(tx, len(moves)) if is_large else versions.allocate(tx)
    changes = segments.write_rows(tx, [c for _, claims in fresh for c in claims], version)
    stream_datasets.move(tx, moves, version)
    tx.execute(_CHECKPOINT, {**_columns(moves), "version": version})
    firsts = [
        claims[0].segment_id if claims else None for merge, claims in fresh for _ in merge.moves
    ]
    remembered = {
        **_columns(moves),
        "starts": pg_arrays.numbers([move.offsets.start - 1 for move in moves]),
        "segments": pg_arrays.uuids(firsts),
        "version": version,
    }
    tx.execute(_REMEMBER, remembered)
    further = [
        (claims[0].segment_id, claimed.segment_id) for _, claims in fresh for claimed in claims[1:]
    ]
    if further:
        firsts_of, ids = zip(*further, strict=True)
        values = {"firsts": pg_arrays.uuids(firsts_of), "segments": pg_arrays.uuids(ids)}
        tx.execute(_REMEMBER_FURTHER, values)
    if is_large:
        versions.take(tx, version)
    stats.add(tx, changes)
    return version


def _columns(moves: Sequence[EntryMove]) -> dict[str, object]:
    return {
        "streams": pg_arrays.uuids([move.stream_id for move in moves]),
        "datasets": pg_arrays.uuids([move.dataset_id for move in moves]),
        "ends": pg_arrays.numbers([move.offsets.end for move in moves]),
        "times": pg_arrays.numbers([move.ingest_time_nanos for move in moves]),
    }
