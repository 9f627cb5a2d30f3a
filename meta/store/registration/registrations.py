"""RegisterMergedSegment: segments become visible and offsets move, many calls in a transaction.

A registration remembers which babies a segment holds. It is how a repeated call is recognised, how
LocateOffset finds a record, and how GetOffsetsAt knows an old version's offsets.
"""

import json
from collections.abc import Hashable, Sequence
from itertools import islice
from uuid import UUID

from sqlalchemy import text

from meta.errors import (
    KeyTaken,
    MetaError,
    NotFound,
    OffsetConflict,
    OffsetNotCommitted,
)
from meta.store.access import audit
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.registration import parts, registration_rows
from meta.store.registration.calls import BatchCall, Merge, keys_of, raise_refusal
from meta.store.registration.part import Part
from meta.store.registration.registration_state import lock_calls, lock_datasets
from meta.store.segments import segments
from meta.store.segments.segments import Claim
from meta.store.streams import merged_offsets
from meta.store.streams.merged_offsets import Backlogs
from meta.store.versions.versions import Version

# Upper bound of the current offsets that a refusal carries.
CURRENT_VALUES_MAX = 32


NOTED_MAX = 10
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
    """The conflict keys of a call of which no part has any: its entries and object keys."""
    return [*(move.key for move in merge.moves), *(new.object_key for new in merge.segments)]


def register_batch(tx: Transaction, batch: Sequence[Merge]) -> list[Version | MetaError]:
    """Register calls that share no entry and no object key, all at one version.

    Each is answered in order: with the version that shows it, or with its refusal, in which case
    nothing of it happens. Locks are taken in one order: datasets, entries, those of the parts, keys
    of segments, allowances, the version. All checks come before the rows are written.
    """
    calls = lock_calls(tx, batch)
    own_parts = parts.lock(tx, calls, parts.PARTS)
    claim(tx, calls)
    for call in calls:
        call.answer = _decide(tx, call)
    for part in own_parts:
        part.check()
    segments.release(tx, [c for call in calls if not call.is_open for c in call.claims])
    for part in own_parts:
        part.write()
    fresh = [call for call in calls if call.is_open]
    if fresh:
        version = registration_rows.write(tx, [(call.merge.moves, call.claims) for call in fresh])
        for call in fresh:
            call.answer = version
            if call.merge.is_audited:
                _note(tx, call)
    return [call.answer for call in calls if call.answer is not None]


def register_alone(
    tx: Transaction, merges: Sequence[Merge], kinds: Sequence[type[Part]]
) -> tuple[Claim, ...]:
    """Claim the keys of segments that move no offsets, and check and write some of their parts.

    The caller draws the version and inserts them. A repetition writes nothing. Raises NotFound for
    a dataset that is not live, and refusals.
    """
    calls = lock_datasets(tx, merges)
    for call in calls:
        if call.dataset is None:
            raise NotFound("there is no such dataset", dataset_id=call.merge.dataset_id)
    own_parts = parts.lock(tx, calls, kinds)
    claims = segments.claim(tx, [new for merge in merges for new in merge.segments], keys_of(calls))
    segments.raise_refusal(claims)
    if not claims or any(claimed.registered_at is None for claimed in claims):
        for part in own_parts:
            part.check()
        raise_refusal(calls)
        for part in own_parts:
            part.write()
    return claims


def _note(tx: Transaction, call: BatchCall) -> None:
    """Note a registration that no worker made."""
    detail: dict[str, object] = {
        "segments": [str(claimed.segment_id) for claimed in call.claims[:NOTED_MAX]],
        "number_of_segments": len(call.claims),
        "moves": len(call.merge.moves),
    }
    for part in parts.PARTS:
        detail |= part.describe(call.merge)
    merge = call.merge
    audit.note(tx, "RegisterMergedSegment", merge.dataset_id, json.dumps(detail), merge.caller)


def claim(tx: Transaction, calls: Sequence[BatchCall]) -> None:
    """Claim the keys of all calls of live datasets, at once and so in one order."""
    live = [call for call in calls if call.dataset is not None and call.merge.segments]
    if not live:
        return
    new = [segment for call in live for segment in call.merge.segments]
    claims = iter(segments.claim(tx, new, keys_of(live)))
    for call in live:
        call.claims = tuple(islice(claims, len(call.merge.segments)))


def _decide(tx: Transaction, call: BatchCall) -> Version | MetaError | None:
    """The answer of a call that writes nothing; None = everything about it is in order."""
    merge, claims = call.merge, call.claims
    if call.dataset is None:
        return NotFound("there is no such dataset", dataset_id=merge.dataset_id)
    if (refusal := next((c.refusal for c in claims if c.refusal is not None), None)) is not None:
        return refusal
    is_known = any(claimed.registered_at is not None for claimed in claims)
    if is_known or (not claims and _is_moved(call)):
        version = _remembered(tx, merge, claims)
        if version is not None:
            return version
    if is_known:
        return KeyTaken(
            "the object key is registered for other offsets",
            object_key=merge.segments[0].object_key,
        )
    return _refused_moves(tx, call)


def _is_moved(call: BatchCall) -> bool:
    moves = zip(call.merge.moves, call.merged, strict=True)
    return all(merged == move.offsets.end for move, merged in moves)


def _refused_moves(tx: Transaction, call: BatchCall) -> MetaError | None:
    merge = call.merge
    for move, committed in zip(merge.moves, call.committed, strict=True):
        if committed is None:
            return NotFound("there is no such stream", stream_id=move.stream_id)
    moved = [
        move.stream_id
        for move, merged in zip(merge.moves, call.merged, strict=True)
        if merged != move.offsets.start - 1
    ]
    if moved:
        # gRPC refuses metadata above 8 KiB.
        listed = moved[:CURRENT_VALUES_MAX]
        current: dict[UUID, object] = {
            entry.stream_id: entry.merged_offset
            for entry in merged_offsets.read(tx, Backlogs.whole(listed), [merge.dataset_id])
        }
        return OffsetConflict(
            f"{len(moved)} of {len(merge.moves)} merged offsets are not what they were",
            dataset_id=merge.dataset_id,
            **{f"merged_offset.{i}": current.get(i, "no entry") for i in listed},
        )
    for move, committed in zip(merge.moves, call.committed, strict=True):
        if committed is not None and move.offsets.end > committed:
            return OffsetNotCommitted(
                f"the committed offset is {committed}, below {move.offsets.end}",
                stream_id=move.stream_id,
                committed_offset=committed,
            )
    return None


def _remembered(tx: Transaction, merge: Merge, claims: Sequence[Claim]) -> Version | None:
    """The version of an earlier call that made exactly these moves with these segments."""
    rows = tx.execute(_OF_MOVES, registration_rows.move_columns(merge.moves)).all()
    moves = {(*move.key, move.offsets.start - 1, move.offsets.end) for move in merge.moves}
    # 0.1.0 also stored a row per move for further segments.
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
