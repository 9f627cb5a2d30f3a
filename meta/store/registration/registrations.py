"""RegisterMergedSegment: segments become visible and offsets move, many calls in a transaction.

A registration remembers which babies a segment holds. It is how a repeated call is recognised, how
LocateOffset finds a record, and how GetOffsetsAt knows an old version's offsets.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from uuid import UUID

from sqlalchemy import text

from meta.access import NO_CALLER, AuditCaller
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
from meta.store.registration import (
    bound_columns,
    conservation,
    event_claims,
    quarantined_ranges,
    registration_rows,
)
from meta.store.registration.event_claims import EventClaims
from meta.store.registration.identities import IdentityWindow
from meta.store.registration.registration_state import (
    CallState,
    Moves,
    RegistrationState,
    lock_state,
)
from meta.store.segments import segments
from meta.store.segments.segments import Claim, NewSegment
from meta.store.streams import merged_offsets
from meta.store.streams.merged_offsets import Backlogs
from meta.store.streams.stream_datasets import EntryMove
from meta.store.versions.versions import Version

# Upper bound of the current offsets that a refusal carries.
CURRENT_VALUES_MAX = 32


@dataclass(frozen=True, slots=True)
class Merge:
    """One call: segments of one dataset (none = offsets only), and the offsets they move."""

    dataset_id: UUID
    segments: tuple[NewSegment, ...]
    moves: tuple[EntryMove, ...]
    # A batch serves many callers, and runs in the context of none.
    caller: AuditCaller = NO_CALLER
    # A person's, whose registrations are audited; a worker's are not.
    is_audited: bool = False
    # Verdicts by which records of streams are quarantined.
    quarantined: Mapping[UUID, str] = field(default_factory=dict)
    # Claims of the events of the segments, if the dataset has each event once.
    event_claims: EventClaims | None = None

    @property
    def repeats(self) -> int:
        """Records of the baby segments that the segments leave out."""
        return self.event_claims.repeats if self.event_claims is not None else 0

    @property
    def claims_events(self) -> bool:
        """Whether identities are looked up for it, or repeats counted."""
        return self.event_claims is not None and not self.event_claims.is_empty


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
    """The conflict keys of a call: its entries and object keys."""
    shared = [("identities", merge.dataset_id)] if merge.claims_events else []
    return [*(m.key for m in merge.moves), *(s.object_key for s in merge.segments), *shared]


def register_batch(tx: Transaction, batch: Sequence[Merge]) -> list[Version | MetaError]:
    """Register calls that share no entry and no object key, all at one version.

    Each is answered in order: with the version that shows it, or with its refusal, in which case
    nothing of it happens.
    """
    calls = [Moves(merge.moves, bool(merge.segments or merge.repeats)) for merge in batch]
    state = lock_state(tx, calls)
    named_events = {m.dataset_id: m.event_claims for m in batch if m.event_claims is not None}
    windows = event_claims.lock_windows(tx, named_events, state.dataset_keys)
    claims = _claim(tx, batch, state)
    answers: list[Version | MetaError | None] = [
        _decide(tx, merge, own, call, is_live=merge.dataset_id in state.dataset_keys)
        or bound_columns.refusal(merge.segments, state.bound_field_ids.get(merge.dataset_id, ()))
        or _claimed_events(tx, merge, state, windows)
        or conservation.refusal(tx, merge.dataset_id, _events(merge), call.bound, merge.caller)
        for merge, own, call in zip(batch, claims, state.calls, strict=True)
    ]
    refused = [own for own, answer in zip(claims, answers, strict=True) if answer is not None]
    segments.release(tx, [claimed for own in refused for claimed in own])
    for merge, answer in zip(batch, answers, strict=True):
        if answer is not None and merge.event_claims is not None:
            event_claims.forget_parts(tx, merge.event_claims)
    fresh = [
        (merge, own)
        for merge, own, answer in zip(batch, claims, answers, strict=True)
        if answer is None
    ]
    if not fresh:
        return [answer for answer in answers if answer is not None]
    for merge, _ in fresh:
        if merge.quarantined:
            spans = [move.offsets for move in merge.moves]
            quarantined_ranges.add(tx, merge.dataset_id, merge.quarantined, spans)
        if merge.event_claims is not None and not merge.event_claims.is_empty:
            event_claims.claim(tx, merge.event_claims, windows[merge.dataset_id])
    version = write(tx, fresh)
    for merge, own in fresh:
        if merge.is_audited:
            _note(tx, merge, own)
    return [version if answer is None else answer for answer in answers]


def _note(tx: Transaction, merge: Merge, claims: Sequence[Claim]) -> None:
    """Note a registration that no worker made."""
    detail = {
        "segments": [str(claimed.segment_id) for claimed in claims[:NOTED_MAX]],
        "number_of_segments": len(claims),
        "moves": len(merge.moves),
    }
    audit.note(tx, "RegisterMergedSegment", merge.dataset_id, json.dumps(detail), merge.caller)


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
    return _refused_moves(tx, merge, call)


def _claimed_events(
    tx: Transaction,
    merge: Merge,
    state: RegistrationState,
    windows: Mapping[UUID, IdentityWindow],
) -> MetaError | None:
    """The refusal of identities; a batch has a dataset of calls that claim some once."""
    return event_claims.refusal(
        tx,
        merge.dataset_id,
        merge.event_claims,
        state.identity_rules.get(merge.dataset_id),
        windows.get(merge.dataset_id),
        has_segments=bool(merge.segments),
    )


def _is_moved(merge: Merge, call: CallState) -> bool:
    moves = zip(merge.moves, call.merged, strict=True)
    return all(merged == move.offsets.end for move, merged in moves)


def _refused_moves(tx: Transaction, merge: Merge, call: CallState) -> MetaError | None:
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
        named = moved[:CURRENT_VALUES_MAX]
        current: dict[UUID, object] = {
            entry.stream_id: entry.merged_offset
            for entry in merged_offsets.read(tx, Backlogs.whole(named), [merge.dataset_id])
        }
        return OffsetConflict(
            f"{len(moved)} of {len(merge.moves)} merged offsets are not what they were",
            dataset_id=merge.dataset_id,
            **{f"merged_offset.{i}": current.get(i, "no entry") for i in named},
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
    """The records that the call accounts for: rows of its segments, and repeats of rows."""
    return sum([segment.number_of_events for segment in merge.segments]) + merge.repeats


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
