"""Payloads of the quarantine: replayed into a dataset once, or dropped.

A replay is begun before its objects are written, so that its dataset is fixed, and is completed by
the registration of the objects. It is begun only once no nursery can merge the payload any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text

from meta.errors import InvalidArgument, NotDrained, NothingToRepair
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.damage import losses
from meta.store.damage.losses import Acceptance, LossKind, Lost
from meta.store.engine.pool import Transaction
from meta.store.registration import deduplication, quarantined_ranges, registrations
from meta.store.registration.bound_columns import BoundColumns
from meta.store.registration.calls import Merge
from meta.store.registration.deduplication import DeduplicatedEvents, EventClaims
from meta.store.segments import segments
from meta.store.segments.segments import Claim, NewSegment
from meta.store.streams import merged_offsets
from meta.store.versions import versions, witness_state
from meta.store.versions.versions import Version
from segments.keys import QuarantineKey, parse_key, quarantine_whole_key
from segments.offsets import OffsetSpan


class ReplayState(IntEnum):
    """State of a payload, as in the proto."""

    BEGUN = 1
    REPLAYED = 2
    DROPPED = 3


@dataclass(frozen=True, slots=True)
class Replay:
    """Decision on a payload; `version` is None while a replay is only begun."""

    state: ReplayState
    dataset_id: UUID | None
    version: Version | None
    segment_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class QuarantinedPayload:
    """A payload, by its object's key and the parts of the key."""

    object_key: str
    name: QuarantineKey


_LOCK = text(
    "SELECT state, dataset_id, version, segment_ids FROM replays WHERE object_key = :key FOR UPDATE"
)
# Two calls that begin at once meet here: the second one waits and changes nothing.
_BEGIN = text(
    "INSERT INTO replays (object_key, state, dataset_id, actor, reason, changed_at)"
    " VALUES (:key, :state, :dataset, :actor, :reason, clock_timestamp()) ON CONFLICT DO NOTHING"
)
_END = text(
    "UPDATE replays SET state = :state, version = :version, segment_ids = :segments,"
    " changed_at = clock_timestamp() WHERE object_key = :key"
)
_FLOOR = text(f"""
    SELECT coalesce({merged_offsets.lowest("s.id")}, s.deleted_offset)
    FROM ingest_streams s WHERE s.id = :stream AND s.retired_at IS NULL
""")  # noqa: S608
# A stream that a database which went back does not know, and that reconciling may bring back.
_IS_LOST = text(f"""
    SELECT {witness_state.IS_UNRECONCILED} AND NOT EXISTS
      (SELECT FROM ingest_streams WHERE id = :stream)
""")  # noqa: S608


def begin(
    tx: Transaction,
    payload: QuarantinedPayload,
    dataset_id: UUID,
    acceptance: Acceptance,
    *,
    is_uncounted: bool = False,
) -> Replay:
    """Fix the dataset that a payload goes to; a repetition returns how far the replay has come.

    `is_uncounted` counts a payload that no registration does, if none holds its records another
    way. Raises NotFound, NothingToRepair for a dropped payload, and for one that does not count,
    InvalidArgument if it was begun for another dataset, NotDrained while a nursery may still merge
    it.
    """
    if is_uncounted:
        # Two payloads of one baby segment, by two verdicts, are not counted at once.
        datasets.lock_columns(tx, [dataset_id])
    datasets.lock_shared(tx, [dataset_id])
    check_passed(tx, payload.name)
    _check_baby(tx, payload.name)
    if _insert(tx, payload, dataset_id, acceptance):
        if is_uncounted:
            _count(tx, payload, dataset_id)
        _check_counted(tx, payload)
        detail = f"dataset {dataset_id}, {acceptance.actor}: {acceptance.reason}"
        audit.note(tx, "BeginReplay", payload.object_key, detail)
    replay = _locked(tx, payload)
    if replay.state is ReplayState.DROPPED:
        raise NothingToRepair("the payload was dropped", object_key=payload.object_key)
    if replay.dataset_id != dataset_id:
        raise InvalidArgument(
            f"its replay into dataset {replay.dataset_id} was begun", field="dataset_id"
        )
    return replay


def complete(
    tx: Transaction,
    payload: QuarantinedPayload,
    new: Sequence[NewSegment],
    deduplication_keys: EventClaims | None = None,
) -> Replay:
    """Register the objects of a replay; a repetition returns the first call's result.

    Raises NothingToRepair unless it was begun, InvalidArgument for another dataset's objects,
    LayoutChanged, EventsClaimed, DeduplicationKeysRequired, and the errors of a registration.
    """
    datasets.lock_shared(tx, [segment.dataset_id for segment in new])
    replay = _locked(tx, payload)
    if replay.state is ReplayState.REPLAYED:
        return replay
    if replay.state is ReplayState.DROPPED:
        raise NothingToRepair("the payload was dropped", object_key=payload.object_key)
    _check_baby(tx, payload.name)
    if {segment.dataset_id for segment in new} - {replay.dataset_id}:
        raise InvalidArgument(
            f"the replay goes to dataset {replay.dataset_id}", field="segments.dataset_id"
        )
    claims: tuple[Claim, ...] = ()
    if replay.dataset_id is not None and (new or deduplication_keys is not None):
        stated = {} if deduplication_keys is None else {deduplication.FIELD: deduplication_keys}
        merge = Merge(replay.dataset_id, tuple(new), (), stated=stated)
        claims = registrations.register_alone(tx, [merge], [BoundColumns, DeduplicatedEvents])
    audit.note(tx, "CompleteReplay", payload.object_key, f"{len(new)} segments")
    version = versions.allocate(tx)
    segments.insert(tx, claims, version)
    segment_ids = tuple(claimed.segment_id for claimed in claims)
    _end(tx, payload, ReplayState.REPLAYED, version, segment_ids)
    return Replay(ReplayState.REPLAYED, replay.dataset_id, version, segment_ids)


def drop(
    tx: Transaction,
    payload: QuarantinedPayload,
    lost: Lost,
    acceptance: Acceptance,
) -> Version:
    """Give a payload up; returns the version of the loss, on a repetition too.

    Raises NothingToRepair for a replayed one, and for one that no registration counts: nothing is
    lost with it. Raises NotDrained while a nursery may still merge it.
    """
    check_passed(tx, payload.name)
    _insert(tx, payload, None, acceptance)
    replay = _locked(tx, payload)
    if replay.state is ReplayState.REPLAYED:
        raise NothingToRepair("the payload was replayed", object_key=payload.object_key)
    if replay.version is not None:
        return replay.version
    _check_counted(tx, payload)
    audit.note(tx, "DropPayload", payload.object_key, f"{acceptance.actor}: {acceptance.reason}")
    version = versions.allocate(tx)
    losses.write(tx, [lost], version, acceptance)
    _end(tx, payload, ReplayState.DROPPED, version, ())
    return version


def restore(tx: Transaction, replayed: Mapping[str, UUID], version: Version, actor: str) -> None:
    """Note payloads, by object key, whose records are in segments of a dataset already."""
    for object_key, dataset_id in sorted(replayed.items()):
        name = parse_key(object_key)
        assert isinstance(name, QuarantineKey)
        payload = QuarantinedPayload(object_key, name)
        _insert(tx, payload, dataset_id, Acceptance(actor, "its segment was found"))
        _end(tx, payload, ReplayState.REPLAYED, version, ())


def lost_payload(payload: QuarantinedPayload, dataset_id: UUID | None, records: int | None) -> Lost:
    """The row of the ledger for a payload."""
    return Lost(
        LossKind.PAYLOAD,
        UUID(payload.name.stream_id),
        payload.name.offset,
        dataset_id,
        object_key=payload.object_key,
        records=records,
    )


def _insert(
    tx: Transaction, payload: QuarantinedPayload, dataset_id: UUID | None, acceptance: Acceptance
) -> bool:
    values = {
        "key": payload.object_key,
        "state": int(ReplayState.BEGUN),
        "dataset": dataset_id,
        "actor": acceptance.actor,
        "reason": acceptance.reason,
    }
    return tx.execute(_BEGIN, values).rowcount > 0


def _locked(tx: Transaction, payload: QuarantinedPayload) -> Replay:
    row: Row[*tuple[Any, ...]] | None = tx.execute(_LOCK, {"key": payload.object_key}).one_or_none()
    if row is None:
        raise NothingToRepair("no replay of it was begun", object_key=payload.object_key)
    return Replay(ReplayState(row[0]), row[1], row[2], tuple(row[3] or ()))


def _end(
    tx: Transaction,
    payload: QuarantinedPayload,
    state: ReplayState,
    version: Version,
    segment_ids: tuple[UUID, ...],
) -> None:
    values = {
        "key": payload.object_key,
        "state": int(state),
        "version": version,
        "segments": list(segment_ids),
    }
    tx.execute(_END, values)


def _check_baby(tx: Transaction, name: QuarantineKey) -> None:
    """Refuse a payload of a baby that was quarantined whole and dropped: the ledger has it."""
    key = quarantine_whole_key(name.stream_id, name.offset)
    row = tx.execute(_LOCK, {"key": key}).one_or_none()
    if row is not None and row[0] == ReplayState.DROPPED:
        raise NothingToRepair("its whole baby segment was dropped", object_key=key)


def _check_counted(tx: Transaction, payload: QuarantinedPayload) -> None:
    """Refuse records that a registration has taken another way: as rows, or by another verdict."""
    if not quarantined_ranges.are_counted(tx, [payload.name])[0]:
        raise NothingToRepair(
            "no registration counts the payload: its records are rows, or in the quarantine by"
            " another verdict",
            object_key=payload.object_key,
        )


def _count(tx: Transaction, payload: QuarantinedPayload, dataset_id: UUID) -> None:
    """Count a payload whose registration the catalog has forgotten, unless another one holds it."""
    name = payload.name
    if name.verdict is None or quarantined_ranges.are_held(tx, dataset_id, name):
        return
    if tx.execute(_IS_LOST, {"stream": UUID(name.stream_id)}).scalar_one():
        raise NothingToRepair(
            "the database went back and does not know the stream: `segplane catalog reconcile` may"
            " bring back a segment that holds the records",
            object_key=payload.object_key,
        )
    span = OffsetSpan(name.stream_id, name.offset, name.offset)
    verdicts = {UUID(name.stream_id): name.verdict}
    quarantined_ranges.add(tx, dataset_id, verdicts, [span])


def check_passed(tx: Transaction, name: QuarantineKey) -> None:
    """Refuse a payload of a baby that a nursery may read again: its dataset may have an entry then.

    A stream that is not known has retired.
    """
    floor = tx.execute(_FLOOR, {"stream": UUID(name.stream_id)}).scalar_one_or_none()
    if floor is not None and floor < name.offset:
        raise NotDrained(
            f"the stream is merged up to {floor}, not yet up to {name.offset}",
            stream_id=name.stream_id,
            merged_offset=floor,
        )
