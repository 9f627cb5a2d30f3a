"""Objects of the bucket without a row, and streams without an object."""

from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.access import audit, server_state
from meta.store.deletion import orphans, retired_streams
from meta.store.deletion.orphans import Judgement, Question
from meta.store.deletion.retired_streams import ListedStreams
from meta.store.deletion.unknown_segments import UnknownSegment
from meta.store.engine.pool import Transaction
from meta.v1 import operations_pb2
from segments.keys import check_key

KEYS_MAX = 1_000
STREAM_ENDS_MAX = 20_000
LISTED_STREAMS_MAX = 1_000


def condemn_objects(
    server: ServerParts, request: operations_pb2.CondemnObjectsRequest
) -> operations_pb2.CondemnObjectsResponse:
    """Condemn objects that rows prove to be garbage, and return those that may be deleted."""
    question = _question(request)

    def work(tx: Transaction) -> Judgement:
        if not request.dry_run:
            server_state.check_deletion_allowed(tx)
        judgement = orphans.condemn(tx, question, is_dry_run=request.dry_run)
        condemned = judgement.condemned
        if condemned and not request.dry_run:
            shown = f"{condemned[0]} to {condemned[-1]}"
            audit.note(tx, "CondemnObjects", "", f"{len(condemned)} keys, {shown}")
        return judgement

    if question.keys and not request.dry_run:
        server.transactions.database.continuity.look()
    run = server.transactions.read if request.dry_run else server.transactions.write
    judgement = run(work)
    return operations_pb2.CondemnObjectsResponse(
        condemned_keys=judgement.condemned,
        unknown_keys=judgement.unknown,
        holder_keys=judgement.holder_keys if request.dry_run else (),
    )


def forget_streams(
    server: ServerParts, request: operations_pb2.ForgetStreamsRequest
) -> operations_pb2.ForgetStreamsResponse:
    """Forget retired streams of which the caller found no object."""
    ids = checks.each(
        request.listed_stream_ids, "listed_stream_ids", LISTED_STREAMS_MAX, checks.uuid
    )
    listed = ListedStreams(
        checks.optional_uuid(request.after_stream_id, "after_stream_id"),
        checks.optional_uuid(request.through_stream_id, "through_stream_id"),
        ids,
    )
    age_secs = server.settings.lifetimes.retired_stream

    def work(tx: Transaction) -> int:
        server_state.check_deletion_allowed(tx)
        return retired_streams.forget(tx, listed, age_secs)

    forgotten = server.transactions.write(work)
    return operations_pb2.ForgetStreamsResponse(forgotten=forgotten)


def _question(request: operations_pb2.CondemnObjectsRequest) -> Question:
    keys = checks.each(request.object_keys, "object_keys", KEYS_MAX, _key)
    segment = _segment(request.segment) if request.HasField("segment") else None
    if segment is not None and segment.object_key not in keys:
        keys.append(segment.object_key)
    return Question(keys, segment, request.written_by_caller)


def _segment(message: operations_pb2.UnknownSegment) -> UnknownSegment:
    key = _key(message.object_key, "segment.object_key")
    checks.at_most(message.stream_ends, "segment.stream_ends", STREAM_ENDS_MAX)
    ends: dict[UUID, int] = {}
    for index, end in enumerate(message.stream_ends):
        field = f"segment.stream_ends[{index}]"
        stream_id = checks.uuid(end.stream_id, f"{field}.stream_id")
        last_offset = checks.count(end.last_offset, f"{field}.last_offset")
        ends[stream_id] = max(last_offset, ends.get(stream_id, -1))
    start_ns, end_ns = checks.closed_range(message.time_range, "segment.time_range")
    modified_at_nanos = checks.count(message.modified_at_nanos, "segment.modified_at_nanos")
    return UnknownSegment(key, ends, start_ns, end_ns, modified_at_nanos)


def _key(key: str, field: str) -> str:
    try:
        return check_key(key)
    except ValueError as error:
        raise InvalidArgument(str(error), field=field) from None
