"""Registrations of merged segments of many datasets in one call."""

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

from meta import access
from meta.errors import EventsClaimed, InvalidArgument, MetaError
from meta.services.messages import checks
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.services.registration.registration_checks import MOVES_MAX, checked_merge
from meta.services.server_parts import ServerParts
from meta.store.registration.calls import Merge
from meta.store.versions.versions import Version
from meta.v1 import operations_pb2 as pb
from segments.deduplication import DEDUPLICATION_KEYS_MAX, HASH_BYTES

REGISTRATIONS_MAX = 1_000
SEGMENTS_MAX = 1_000
# Messages may repeat the caller's values; this keeps a reply of refusals below its bound.
MESSAGE_CHARACTERS_MAX = 500
_Outcome: TypeAlias = Version | MetaError


async def register_merged_segments(
    server: ServerParts, request: pb.RegisterMergedSegmentsRequest
) -> pb.RegisterMergedSegmentsResponse:
    """Register each registration as if it had come alone."""
    checked = await asyncio.to_thread(_checked, server, request)
    merges = [item for item in checked if isinstance(item, Merge)]
    outcomes = iter(await server.registrar.register_each(merges))
    return _response([next(outcomes) if isinstance(c, Merge) else c for c in checked])


def _checked(
    server: ServerParts, request: pb.RegisterMergedSegmentsRequest
) -> list[Merge | InvalidArgument]:
    """Check the call, and each registration by itself. Raises InvalidArgument for the call."""
    items = request.registrations
    if not items:
        raise InvalidArgument("registrations must not be empty", field="registrations")
    checks.at_most(items, "registrations", REGISTRATIONS_MAX)
    segments = sum([item.HasField("segment") + len(item.more_segments) for item in items])
    checks.count(segments, "registrations.segments", high=SEGMENTS_MAX)
    moves = sum([len(item.stream_offsets) for item in items])
    checks.count(moves, "registrations.stream_offsets", high=MOVES_MAX)
    hashes = sum([len(day.hashes) for item in items for day in item.deduplication_keys.days])
    checks.count(
        hashes // HASH_BYTES, "registrations.deduplication_keys", high=DEDUPLICATION_KEYS_MAX
    )
    caller, stores = access.caller(), server.settings.stores
    checked: list[Merge | InvalidArgument] = []
    for item in items:
        try:
            checked.append(checked_merge(item, stores, caller))
        except InvalidArgument as refusal:
            checked.append(refusal)
    return checked


def _response(outcomes: Sequence[_Outcome]) -> pb.RegisterMergedSegmentsResponse:
    response = pb.RegisterMergedSegmentsResponse()
    for outcome in outcomes:
        if isinstance(outcome, MetaError):
            response.results.append(pb.RegistrationResult(refusal=_refusal(outcome)))
        else:
            response.results.add(segment_version=outcome)
    if response.ByteSize() > REPLY_BYTES_MAX:
        for result in response.results:
            result.refusal.metadata.clear()
    return response


def _refusal(error: MetaError) -> pb.Refusal:
    return pb.Refusal(
        code=error.code.value,
        reason=error.reason,
        message=error.message[:MESSAGE_CHARACTERS_MAX],
        metadata=error.metadata,
        field=error.field if isinstance(error, InvalidArgument) else "",
        claimed_positions=error.positions if isinstance(error, EventsClaimed) else (),
    )
