"""Checks of registrations of merged segments."""

from meta import access
from meta.errors import InvalidArgument
from meta.services import checks, convert
from meta.store.registrations import Merge
from meta.store.stream_datasets import EntryMove
from meta.v1 import common_pb2, nursery_pb2
from segments.location import StoreLocation
from segments.offsets import OffsetSpan

MOVES_MAX = 10_000
SEGMENTS_MAX = 100


def checked_merge(
    request: nursery_pb2.RegisterMergedSegmentRequest, location: StoreLocation
) -> Merge:
    """Check a registration. Raises InvalidArgument."""
    if not request.stream_offsets:
        raise InvalidArgument("stream_offsets must not be empty", field="stream_offsets")
    checks.at_most(request.stream_offsets, "stream_offsets", MOVES_MAX)
    moves = [_move(info, f"stream_offsets[{n}]") for n, info in enumerate(request.stream_offsets)]
    checks.distinct([(m.stream_id, m.dataset_id) for m in moves], "stream_offsets")
    named: list[tuple[str, common_pb2.CreateSegment]] = []
    if request.HasField("segment"):
        named.append(("segment", request.segment))
    elif request.more_segments:
        raise InvalidArgument("more_segments without a segment", field="segment")
    named += [(f"more_segments[{n}]", s) for n, s in enumerate(request.more_segments)]
    checks.at_most(named, "more_segments", SEGMENTS_MAX)
    new = tuple(convert.new_segment(location, s, name) for name, s in named)
    checks.distinct([segment.object_key for segment in new], "more_segments")
    dataset_id = (new[0] if new else moves[0]).dataset_id
    named_ids = {*(s.dataset_id for s in new), *(m.dataset_id for m in moves)}
    if named_ids != {dataset_id}:
        raise InvalidArgument(f"not everything is of dataset {dataset_id}", field="stream_offsets")
    return Merge(dataset_id, new, tuple(moves), access.caller())


def _move(info: nursery_pb2.StreamOffsetInfo, field: str) -> EntryMove:
    start = checks.count(info.start_merged_offset, f"{field}.start_merged_offset", low=-1)
    end = checks.count(info.new_merged_offset, f"{field}.new_merged_offset", low=start + 1)
    stream_id = checks.uuid(info.stream_id, f"{field}.stream_id")
    return EntryMove(
        dataset_id=checks.uuid(info.dataset_id, f"{field}.dataset_id"),
        offsets=OffsetSpan(str(stream_id), start + 1, end),
        ingest_time_nanos=checks.count(info.ingest_time_nanos, f"{field}.ingest_time_nanos"),
    )
