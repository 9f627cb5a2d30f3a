"""Payloads of the quarantine: replays and drops."""

from dataclasses import replace

from meta.errors import EventsClaimed, InvalidArgument
from meta.services.damage.damage import acceptance_of, consent_of
from meta.services.messages import checks, convert, deduplication_keys
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.damage import held_payloads, replays
from meta.store.damage.replays import QuarantinedPayload, Replay
from meta.store.registration import quarantined_ranges
from meta.v1 import operations_pb2 as pb
from segments.keys import QuarantineKey, parse_key

SEGMENTS_MAX = 100
CHECKED_MAX = 1_000


def begin_replay(server: ServerParts, request: pb.BeginReplayRequest) -> pb.BeginReplayResponse:
    """Fix the dataset that a payload of the quarantine goes to."""
    payload = _payload(request.object_key)
    if payload.name.slice_index is None:
        raise InvalidArgument(
            "a whole baby segment is replayed payload by payload", field="object_key"
        )
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    acceptance = consent_of(request.acceptance)
    replay = server.transactions.write(
        lambda tx: replays.begin(
            tx, payload, dataset_id, acceptance, is_uncounted=request.uncounted
        )
    )
    return pb.BeginReplayResponse(replay=_message(replay))


def complete_replay(
    server: ServerParts, request: pb.CompleteReplayRequest
) -> pb.CompleteReplayResponse:
    """Register the objects of a replay."""
    payload = _payload(request.object_key)
    new = convert.new_segments(server.settings.stores, request.segments, "segments", SEGMENTS_MAX)
    claims = None
    if request.HasField("deduplication_keys"):
        claims = replace(
            deduplication_keys.checked_claims(request.deduplication_keys, "deduplication_keys"),
            takes_outside=request.outside_window_taken,
        )
    try:
        replay = server.transactions.write(lambda tx: replays.complete(tx, payload, new, claims))
    except EventsClaimed as refusal:
        return pb.CompleteReplayResponse(claimed_positions=refusal.positions)
    return pb.CompleteReplayResponse(replay=_message(replay))


def drop_payload(server: ServerParts, request: pb.DropPayloadRequest) -> pb.DropPayloadResponse:
    """Give a payload of the quarantine up."""
    payload = _payload(request.object_key)
    dataset_id = checks.optional_uuid(request.dataset_id, "dataset_id")
    records = checks.count(request.records, "records") if request.HasField("records") else None
    if request.held:
        if dataset_id is None:
            raise InvalidArgument("it must be given with held", field="dataset_id")
        consent = consent_of(request.acceptance)
        server.transactions.write(
            lambda tx: held_payloads.discard(tx, payload, dataset_id, consent)
        )
        return pb.DropPayloadResponse()
    acceptance = acceptance_of(request.acceptance)
    lost = replays.lost_payload(payload, dataset_id, records)
    version = server.transactions.write(lambda tx: replays.drop(tx, payload, lost, acceptance))
    return pb.DropPayloadResponse(version=version)


def check_quarantined(
    server: ServerParts, request: pb.CheckQuarantinedRequest
) -> pb.CheckQuarantinedResponse:
    """Return the payloads that no registration counts."""
    checks.at_most(request.object_keys, "object_keys", CHECKED_MAX)
    keys = list(request.object_keys)
    names = [_payload(key).name for key in keys]
    dataset_id = checks.optional_uuid(request.dataset_id, "dataset_id")
    if dataset_id is not None and len(keys) != 1:
        raise InvalidArgument("it is asked with a single key", field="dataset_id")
    counted = server.transactions.read(lambda tx: quarantined_ranges.are_counted(tx, names))
    uncounted = [key for key, is_counted in zip(keys, counted, strict=True) if not is_counted]
    held = False
    if dataset_id is not None and uncounted:
        held = server.transactions.read(lambda tx: held_payloads.is_held(tx, names[0], dataset_id))
    return pb.CheckQuarantinedResponse(uncounted=uncounted, held=held)


def _payload(object_key: str) -> QuarantinedPayload:
    name = parse_key(checks.text(object_key, "object_key"))
    if not isinstance(name, QuarantineKey) or name.is_note:
        raise InvalidArgument("it is not a key of a quarantined payload", field="object_key")
    return QuarantinedPayload(object_key, name)


def _message(replay: Replay) -> pb.Replay:
    return filled(pb.Replay, replay, segment_ids=map(str, replay.segment_ids))
