"""Replays a baby that was quarantined whole: each payload once, to the dataset of its stamp.

A payload has the key that the nursery would have given it in the quarantine, under which meta knows
what became of it. So a replay of the sound payloads and a later replay of all from a sound copy
register each of them once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dataplane.location import MetaLocation
from meta.client import MetaClient
from meta.errors import MetaError, NotFound
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2
from segments.baby import Baby, TokenPart, decode_baby
from segments.corrected_baby import correct_baby
from segments.damaged_baby import proven_payloads
from segments.errors import CorruptObject
from segments.keys import QuarantineKey, quarantine_key
from segments.store.interface import ObjectStore
from segplane.recovery.payload_replay import (
    ReplayRefused,
    ReplayUndecodable,
    ReplayViolatesSchema,
    begin_replay,
    register_payload,
)

if TYPE_CHECKING:
    from dataplane.babies.payload import Payload

_CHECKSUM_BYTES = 4


@dataclass(frozen=True, slots=True)
class ReplayedBaby:
    """Outcome: payloads in segments, payloads quarantined one by one, payloads that stay damaged.

    `version` is the latest at which records of the baby became visible, 0 if there are none.
    """

    replayed: int
    quarantined: int
    damaged: int
    version: int
    num_segments: int


def sound_copy(path: Path, damaged: bytes, *, is_as_is: bool) -> Baby:
    """Read a sound copy of a damaged baby segment. Raises ReplayRefused, OSError.

    The two end with one checksum; `is_as_is` takes a file of another one, or without one.
    """
    body = path.read_bytes()
    try:
        baby = decode_baby(body)
    except CorruptObject as error:
        raise ReplayRefused(f"{path} is not a sound baby segment: {error}") from None
    is_same = baby.is_stamped and body[-_CHECKSUM_BYTES:] == damaged[-_CHECKSUM_BYTES:]
    if not (is_same or is_as_is):
        raise ReplayRefused(
            f"{path} does not end with the checksum of the baby segment; add --as-is if it is a"
            " sound copy all the same"
        )
    return baby


def proven_baby(client: MetaClient, damaged: bytes) -> Baby:
    """Read the proven payloads of a damaged baby segment; its parts name the others.

    A payload counts if its checksum agrees, and if its token and dataset are known to meta: a
    damaged stamp may name others. Raises ReplayRefused.
    """
    try:
        return decode_baby(correct_baby(damaged))
    except CorruptObject:
        pass
    try:
        baby = proven_payloads(damaged)
    except CorruptObject as error:
        raise ReplayRefused(
            f"no payload can be recovered: {error}; a sound copy is needed"
        ) from None
    return replace(
        baby,
        parts=tuple(part if _is_known(client, part) else _all_damaged(part) for part in baby.parts),
    )


def replay_baby(
    client: MetaClient,
    location: MetaLocation,
    store: ObjectStore,
    name: QuarantineKey,
    baby: Baby,
    *,
    default_received_at: int,
    dataset_id: str,
    acceptance: operations_pb2.LossAcceptance,
) -> ReplayedBaby:
    """Replay the payloads of a baby that are sound; a payload without a dataset is quarantined.

    `dataset_id` is that of payloads whose stamps name none. Raises ReplayRefused, MetaError,
    SegmentsError; a repetition continues.
    """
    # pyarrow is not part of the `cli` extra; only a replay needs it.
    from nursery.execution.quarantine import Quarantine

    quarantine = Quarantine(store)
    done: list[operations_pb2.Replay] = []
    quarantined = 0
    for part in baby.parts:
        target = part.dataset_id or dataset_id
        for payload in _payloads(name, part, baby.received_at or default_received_at):
            if not target:
                quarantine.put_payload(payload, "no_route")
                quarantined += 1
                continue
            key = _key(payload)
            try:
                replayed = begin_replay(client, key, target, acceptance)
                if replayed.state != operations_pb2.REPLAY_STATE_REPLAYED:
                    replayed = register_payload(client, location, store, key, payload, target)
                done.append(replayed)
            except ReplayUndecodable as error:
                quarantine.put_payload(payload, "undecodable", str(error), target)
                quarantined += 1
            except ReplayViolatesSchema as error:
                quarantine.put_payload(payload, error.cause, str(error), target)
                quarantined += 1
    return ReplayedBaby(
        len(done),
        quarantined,
        sum(len(part.damaged) for part in baby.parts),
        max((replay.version for replay in done), default=0),
        sum(len(replay.segment_ids) for replay in done),
    )


def _key(payload: "Payload") -> str:
    baby_id = payload.stream_id, payload.offset
    return quarantine_key(*baby_id, payload.token_id, payload.signal, payload.slice_index)


def _payloads(name: QuarantineKey, part: TokenPart, received_at: int) -> Iterator["Payload"]:
    from dataplane.babies.payload import Payload

    for index, body in enumerate(part.slices):
        if index not in part.damaged:
            export = part.export(index, received_at)
            yield Payload(
                name.stream_id,
                name.offset,
                part.token_id,
                part.signal,
                index,
                body,
                export.received_at,
                decoded_bytes=len(body),
                is_validated=False,
                digest=export.digest,
            )


def _is_known(client: MetaClient, part: TokenPart) -> bool:
    try:
        client.ingest_token.GetIngestToken(
            ingest_token_pb2.GetIngestTokenRequest(token_id=part.token_id)
        )
        client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=part.dataset_id or ""))
    except NotFound:
        return False
    except MetaError as error:
        if error.reason == "INVALID_ARGUMENT":
            return False
        raise
    return True


def _all_damaged(part: TokenPart) -> TokenPart:
    return part._replace(damaged=frozenset(range(len(part.slices))))
