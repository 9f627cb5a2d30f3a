"""Ways out of the quarantine: a payload is replayed once, or dropped.

Nothing is deleted from the bucket before meta has recorded what became of it, so each command may
be repeated after a crash.
"""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from dataplane.location import MetaLocation, ask_location
from meta.client import MetaClient
from meta.v1 import operations_pb2
from segments.errors import ObjectMissing
from segments.inventory.quarantine import Quarantined, described
from segments.keys import QuarantineKey, parse_key, quarantine_note_key
from segments.location import StoreLocation, Stores
from segments.signals import Signal
from segments.store.interface import ObjectStore
from segments.store.open import open_stores
from segplane.recovery.payload_replay import ReplayRefused, begin_replay, register_payload

if TYPE_CHECKING:
    from dataplane.babies.payload import Payload
    from segplane.recovery.whole_babies import ReplayedBaby


def open_quarantine(
    client: MetaClient, store: StoreLocation | None = None
) -> tuple[MetaLocation, ObjectStore]:
    """Find the bucket, at `store` if the process is set to use another; raises MetaError."""
    location = ask_location(client, "quarantine")
    return location, open_stores(Stores(store or location.store, location.named_stores))


def find(store: ObjectStore, key: str) -> Quarantined:
    """Read the bucket's note of one payload; raises ObjectMissing, ReplayRefused."""
    name = parse_key(key)
    if not isinstance(name, QuarantineKey) or name.is_note:
        raise ReplayRefused(f"{key} is not a key of the quarantine")
    return described(store, store.head(key), name)


def replay(
    client: MetaClient,
    key: str,
    dataset_id: str,
    acceptance: operations_pb2.LossAcceptance,
    *,
    file: Path | None = None,
    is_as_is: bool = False,
    is_uncounted: bool = False,
    store: StoreLocation | None = None,
) -> operations_pb2.Replay:
    """Register a payload's records in a dataset, once, then delete it from the quarantine.

    `file` holds sound bytes of a damaged one; `is_as_is` takes the damaged ones, and records that
    violate the schema; `is_uncounted` takes a payload that no registration counts. Raises
    ReplayRefused, MetaError, SegmentsError.
    """
    location, objects = open_quarantine(client, store)
    item = _find(objects, key)
    dataset_id = dataset_id or item.dataset_id
    if not dataset_id:
        raise ReplayRefused("its note names no dataset: choose one with --dataset")
    if item.is_damaged and file is None and not is_as_is:
        raise ReplayRefused(f"{item.cause}: give its sound bytes with --file, or add --as-is")
    replayed = begin_replay(client, key, dataset_id, acceptance, is_uncounted=is_uncounted)
    if replayed.state != operations_pb2.REPLAY_STATE_REPLAYED:
        payload = _payload(item, objects.get(key) if file is None else file.read_bytes())
        replayed = register_payload(
            client, location, objects, key, payload, dataset_id, is_as_is=is_as_is
        )
    _delete(objects, key)
    return replayed


def replay_whole(
    client: MetaClient,
    key: str,
    dataset_id: str,
    acceptance: operations_pb2.LossAcceptance,
    *,
    file: Path | None = None,
    is_as_is: bool = False,
    is_sound_only: bool = False,
) -> "ReplayedBaby":
    """Register a whole baby's records, each payload once, then delete it from the quarantine.

    `file` is a sound copy of the baby; `is_sound_only` takes the payloads that are proven sound,
    and the object stays if there are others. Raises ReplayRefused, MetaError, SegmentsError.
    """
    from segplane.recovery import whole_babies

    location, store = open_quarantine(client)
    item = _find(store, key)
    body = store.get(key)
    if file is not None:
        baby = whole_babies.sound_copy(file, body, is_as_is=is_as_is)
    elif is_sound_only:
        baby = whole_babies.proven_baby(client, body)
    else:
        raise ReplayRefused(
            f"{item.cause}: give a sound copy of the baby segment with --file, or take the payloads"
            " whose own checksums hold with --sound-payloads"
        )
    name = cast(QuarantineKey, parse_key(key))
    done = whole_babies.replay_baby(
        client,
        location,
        store,
        name,
        baby,
        default_received_at=item.modified_at_nanos,
        dataset_id=dataset_id,
        acceptance=acceptance,
    )
    # Nothing of the baby is left to the object.
    if not done.damaged:
        _delete(store, key)
    return done


def is_whole(key: str) -> bool:
    """Whether a key of the quarantine is that of a whole baby segment."""
    name = parse_key(key)
    return isinstance(name, QuarantineKey) and name.slice_index is None and not name.is_note


def _find(store: ObjectStore, key: str) -> Quarantined:
    try:
        return find(store, key)
    except ObjectMissing:
        raise ReplayRefused(
            f"{key} is not in the quarantine: replayed, dropped or unknown"
        ) from None


def drop(
    client: MetaClient,
    key: str,
    acceptance: operations_pb2.LossAcceptance,
    *,
    is_held: bool = False,
    store: StoreLocation | None = None,
) -> operations_pb2.DropPayloadResponse:
    """Write a payload off, then delete it. Raises MetaError, SegmentsError, ReplayRefused.

    `is_held` takes only one that no registration counts and whose records another one holds:
    nothing is lost with it, and neither fact changes any more.
    """
    _, objects = open_quarantine(client, store)
    item = find(objects, key)
    if is_held:
        _check_held(client, item)
    # Checked again, and audited, before the object goes.
    reply = client.operations.DropPayload(
        operations_pb2.DropPayloadRequest(
            object_key=key, dataset_id=item.dataset_id, acceptance=acceptance, held=is_held
        )
    )
    _delete(objects, key)
    return reply


def _check_held(client: MetaClient, item: Quarantined) -> None:
    if not item.dataset_id:
        raise ReplayRefused("its note names no dataset, so the owner of the records is not known")
    reply = client.operations.CheckQuarantined(
        operations_pb2.CheckQuarantinedRequest(object_keys=[item.key], dataset_id=item.dataset_id)
    )
    if not reply.uncounted:
        raise ReplayRefused(f"{item.key} counts: replay it, or drop it with its records")
    if not reply.held:
        raise ReplayRefused(
            f"no registration is known that holds the records of {item.key}: replay it with"
            " --uncounted"
        )


def _payload(item: Quarantined, body: bytes) -> "Payload":
    from dataplane.babies.payload import Payload

    name = cast(QuarantineKey, parse_key(item.key))
    return Payload(
        stream_id=name.stream_id,
        offset=name.offset,
        token_id=name.token_id or "",
        signal=cast(Signal, name.signal),
        slice_index=name.slice_index or 0,
        body=body,
        received_at=item.received_at_nanos or item.modified_at_nanos,
        decoded_bytes=len(body),
        is_validated=False,
        part=f"{name.piece}-{name.verdict}" + "-outside" * name.is_outside if name.verdict else "",
        digest=bytes.fromhex(item.batch_id),
    )


def _delete(store: ObjectStore, key: str) -> None:
    store.delete([key, quarantine_note_key(key)])
