"""Checks of what a registration states for its parts, each in a field of its own."""

import re
from collections.abc import Sequence
from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import checks, deduplication_keys
from meta.store.registration import event_claims, quarantined_ranges
from meta.store.streams.stream_datasets import EntryMove
from meta.v1 import nursery_pb2

_VERDICT = re.compile(r"[0-9a-f]{16}")


def checked(
    request: nursery_pb2.RegisterMergedSegmentRequest, moves: Sequence[EntryMove]
) -> dict[str, object]:
    """Check the fields of the parts that are set; raises InvalidArgument."""
    stated: dict[str, object] = {}
    if request.quarantined:
        stated[quarantined_ranges.FIELD] = _quarantined(request, moves)
    if request.HasField("deduplication_keys"):
        claims = deduplication_keys.checked_claims(request.deduplication_keys, "deduplication_keys")
        stated[event_claims.FIELD] = claims
    return stated


def _quarantined(
    request: nursery_pb2.RegisterMergedSegmentRequest, moves: Sequence[EntryMove]
) -> dict[UUID, str]:
    """Check the verdicts on records of streams, each of them one of the moves'."""
    checks.at_most(request.quarantined, "quarantined", len(moves))
    verdicts: dict[UUID, str] = {}
    moved = {move.stream_id for move in moves}
    for index, item in enumerate(request.quarantined):
        field = f"quarantined[{index}]"
        stream_id = checks.uuid(item.stream_id, f"{field}.stream_id")
        if stream_id not in moved:
            raise InvalidArgument("it is none of stream_offsets", field=f"{field}.stream_id")
        if not _VERDICT.fullmatch(item.verdict):
            raise InvalidArgument("it is not 16 hexadecimal digits", field=f"{field}.verdict")
        verdicts[stream_id] = item.verdict
    checks.distinct([item.stream_id for item in request.quarantined], "quarantined")
    return verdicts
