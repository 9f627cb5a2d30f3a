"""Checks of registrations, and of what they state for their parts, each in its own field."""

import re
from collections.abc import Sequence
from uuid import UUID

from meta import access
from meta.access import AuditCaller
from meta.errors import InvalidArgument
from meta.roles import Role
from meta.services.messages import checks, convert, deduplication_keys
from meta.store.registration import deduplication, quarantined_ranges
from meta.store.registration.calls import Merge
from meta.store.segments.segments import NewSegment
from meta.store.streams.stream_datasets import EntryMove
from meta.v1 import nursery_pb2
from segments.ids import canonical_uuid, parse_uuid
from segments.location import Stores
from segments.offsets import OffsetSpan

MOVES_MAX = 10_000
SEGMENTS_MAX = 100
_VERDICT = re.compile(r"[0-9a-f]{16}")


def checked_merge(
    request: nursery_pb2.RegisterMergedSegmentRequest, stores: Stores, caller: AuditCaller
) -> Merge:
    """Check a registration by `caller`. Raises InvalidArgument."""
    offsets, further = request.stream_offsets, request.more_segments
    if not offsets:
        raise InvalidArgument("stream_offsets must not be empty", field="stream_offsets")
    checks.at_most(offsets, "stream_offsets", MOVES_MAX)
    moves = tuple([_move(info, n) for n, info in enumerate(offsets)])
    if len(moves) > 1:
        checks.distinct([(m.stream_id, m.dataset_id) for m in moves], "stream_offsets")
    new: tuple[NewSegment, ...] = ()
    if request.HasField("segment"):
        new = (convert.new_segment(stores, request.segment, "segment"),)
    elif further:
        raise InvalidArgument("more_segments without a segment", field="segment")
    if further:
        segments = [(f"more_segments[{n}]", s) for n, s in enumerate(further)]
        checks.at_most([*new, *segments], "more_segments", SEGMENTS_MAX)
        new += tuple([convert.new_segment(stores, s, name) for name, s in segments])
        checks.distinct([segment.object_key for segment in new], "more_segments")
    dataset_id = (new[0] if new else moves[0]).dataset_id
    named_ids = [*[s.dataset_id for s in new], *[m.dataset_id for m in moves]]
    if named_ids.count(dataset_id) != len(named_ids):
        other = min({*named_ids} - {dataset_id})
        raise InvalidArgument(
            f"a part belongs to dataset {other}, not {dataset_id}", field="stream_offsets"
        )
    stated = _stated(request, moves)
    return Merge(dataset_id, new, moves, caller, is_audited=_is_person(), stated=stated)


def _is_person() -> bool:
    """Return true for a caller that is not a nursery; a shared credential may be one."""
    principal = access.current.get()
    return principal.role is not Role.NURSERY and not principal.is_shared


def _move(info: nursery_pb2.StreamOffsetInfo, index: int) -> EntryMove:
    start, end = info.start_merged_offset, info.new_merged_offset
    if not -1 <= start < end or info.ingest_time_nanos < 0:
        return _move_by_field(info, index)
    try:
        return EntryMove(
            dataset_id=parse_uuid(info.dataset_id),
            offsets=OffsetSpan(canonical_uuid(info.stream_id), start + 1, end),
            ingest_time_nanos=info.ingest_time_nanos,
        )
    except ValueError:
        return _move_by_field(info, index)


def _move_by_field(info: nursery_pb2.StreamOffsetInfo, index: int) -> EntryMove:
    field = f"stream_offsets[{index}]"
    start = checks.count(info.start_merged_offset, f"{field}.start_merged_offset", low=-1)
    end = checks.count(info.new_merged_offset, f"{field}.new_merged_offset", low=start + 1)
    stream_id = checks.uuid(info.stream_id, f"{field}.stream_id")
    return EntryMove(
        dataset_id=checks.uuid(info.dataset_id, f"{field}.dataset_id"),
        offsets=OffsetSpan(str(stream_id), start + 1, end),
        ingest_time_nanos=checks.count(info.ingest_time_nanos, f"{field}.ingest_time_nanos"),
    )


def _stated(
    request: nursery_pb2.RegisterMergedSegmentRequest, moves: Sequence[EntryMove]
) -> dict[str, object]:
    """Check the fields of the parts that are set; raises InvalidArgument."""
    stated: dict[str, object] = {}
    if request.quarantined:
        stated[quarantined_ranges.FIELD] = _quarantined(request, moves)
    if request.HasField("deduplication_keys"):
        claims = deduplication_keys.checked_claims(request.deduplication_keys, "deduplication_keys")
        stated[deduplication.FIELD] = claims
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
            raise InvalidArgument(
                f"{stream_id} is not in stream_offsets", field=f"{field}.stream_id"
            )
        if not _VERDICT.fullmatch(item.verdict):
            raise InvalidArgument("it is not 16 hexadecimal digits", field=f"{field}.verdict")
        verdicts[stream_id] = item.verdict
    checks.distinct([item.stream_id for item in request.quarantined], "quarantined")
    return verdicts
