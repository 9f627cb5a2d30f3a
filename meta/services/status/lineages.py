"""Lineage of a baby segment's records, or of a segment: registrations, segments and merges."""

from dataclasses import replace

from meta import access
from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.engine.pool import Transaction
from meta.store.lookup import lineage_list
from meta.store.lookup.lineage_list import Lineage, LineageMerge, LineageSegment
from meta.store.versions import clock, versions
from meta.v1 import status_pb2 as pb

LIMIT_DEFAULT, LIMIT_MAX = 100, 1_000


def list_lineage(server: ServerParts, request: pb.ListLineageRequest) -> pb.ListLineageResponse:
    """List what records have come through, at one moment."""
    most = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    stream_id = checks.filter_uuid(request, "stream_id")
    segment_id = checks.filter_uuid(request, "segment_id")
    offset = checks.count(request.offset, "offset")
    if (stream_id is None) == (segment_id is None):
        raise InvalidArgument("send either stream_id or segment_id", field="segment_id")

    def work(tx: Transaction) -> pb.ListLineageResponse:
        if stream_id is not None:
            lineage = lineage_list.of_baby(tx, stream_id, offset, most)
        else:
            assert segment_id is not None
            lineage = lineage_list.of_segment(tx, segment_id, most)
        return pb.ListLineageResponse(
            version=versions.current(tx),
            registrations=[
                filled(pb.LineageRegistration, registration)
                for registration in lineage.registrations
            ],
            segments=[_segment(lineage, segment) for segment in lineage.segments],
            is_cut=lineage.is_cut,
            database_time_nanos=clock.now_nanos(tx),
        )

    return server.transactions.read(work)


def _segment(lineage: Lineage, segment: LineageSegment) -> pb.LineageSegment:
    merge = lineage.merges.get(segment.id)
    return filled(
        pb.LineageSegment,
        segment,
        input_ids=map(str, lineage.inputs.get(segment.id, ())),
        merge=None if merge is None else filled(pb.LineageMerge, _shown(merge)),
    )


def _shown(merge: LineageMerge) -> LineageMerge:
    """Return a merge as its caller may see it: readers are not told names of processes."""
    if access.current.get().is_told_processes:
        return merge
    return replace(merge, worker_id=None)
