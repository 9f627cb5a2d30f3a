"""Segments whose writers did not state their content."""

from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import checks, convert, segment_facts
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.services.server_parts import ServerParts
from meta.store.engine.pool import Transaction
from meta.store.segments import unread_segments
from meta.store.segments.foreign_files import MAPPED, UNREADABLE
from meta.store.segments.segments import SegmentRow
from meta.store.segments.unread_segments import ID_MIN, UNTOLD, FactsRow
from meta.v1 import operations_pb2 as pb

LISTED_DEFAULT = 100
LISTED_MAX = 1_000
READ_MAX = 1_000
REASON_CHARACTERS_MAX = 1_000


def list_unread_segments(
    server: ServerParts, request: pb.ListUnreadSegmentsRequest
) -> pb.ListUnreadSegmentsResponse:
    """Page through the live segments without facts, or through those that readers skip."""
    after = ID_MIN
    if request.after_segment_id:
        after = checks.uuid(request.after_segment_id, "after_segment_id")
    most = checks.limit(request.limit, default=LISTED_DEFAULT, most=LISTED_MAX)
    read = unread_segments.list_unreadable if request.unreadable else unread_segments.list_unread
    rows = server.transactions.read(lambda tx: read(tx, after, most + 1))
    reply = pb.ListUnreadSegmentsResponse()
    size_bytes = 0
    for row in rows[:most]:
        segment = convert.segment_info(server.settings.stores, row)
        size_bytes += segment.ByteSize() + 8
        if size_bytes > REPLY_BYTES_MAX and reply.segments:
            break
        reply.segments.append(segment)
    if len(reply.segments) < len(rows):
        reply.next_after_segment_id = reply.segments[-1].id
    return reply


def set_segment_facts(
    server: ServerParts, request: pb.SetSegmentFactsRequest
) -> pb.SetSegmentFactsResponse:
    """Record missing facts; refuses all if one disagrees with its segment."""
    items = checks.each(request.segments, "segments", READ_MAX, _named)
    checks.distinct([segment_id for segment_id, _ in items], "segments")
    by_id = dict(items)

    def work(tx: Transaction) -> int:
        locked = unread_segments.lock(tx, list(by_id))
        rows = [_facts_row(row, *by_id[UUID(row.id)]) for row in locked]
        unread_segments.store(tx, rows)
        return len(rows)

    return pb.SetSegmentFactsResponse(recorded=server.transactions.write(work))


def _named(item: pb.ReadSegment, field: str) -> tuple[UUID, tuple[pb.ReadSegment, str]]:
    return checks.uuid(item.segment_id, f"{field}.segment_id"), (item, field)


def _facts_row(row: SegmentRow, read: pb.ReadSegment, field: str) -> FactsRow:
    segment_id, facts, state = UUID(row.id), read.facts, None
    if read.HasField("foreign"):
        state = _checked_state(row, read, f"{field}.foreign")
    file = None if state is None else read.foreign.SerializeToString(deterministic=True)
    if not read.HasField("facts"):
        return FactsRow(segment_id, UNTOLD, None, state, file)
    whole = row.number_of_events, row.start_ns, row.end_ns
    mask, _ = segment_facts.check(facts, whole, f"{field}.facts", is_foreign=state is not None)
    if not mask:
        raise InvalidArgument(f"{field}.facts names no signal", field=f"{field}.facts.signals")
    serialized = facts.SerializeToString(deterministic=True)
    return FactsRow(segment_id, serialized, mask, state, file)


def _checked_state(row: SegmentRow, read: pb.ReadSegment, field: str) -> int:
    """Refuse a state that the registration does not allow: damage is never skipped."""
    state, reason = read.foreign.state, read.foreign.reason
    if row.foreign_file is None:
        raise InvalidArgument(
            f"segment {row.id} was registered by a worker: an object of it that cannot be read is"
            " damage",
            field=field,
        )
    is_mapped = state == MAPPED and read.HasField("facts") and not reason
    is_unreadable = state == UNREADABLE and not read.HasField("facts") and bool(reason)
    if not (is_mapped or is_unreadable):
        raise InvalidArgument(
            f"{field} is neither mapped, with facts, nor unreadable, with a reason", field=field
        )
    checks.text(reason, f"{field}.reason", characters_max=REASON_CHARACTERS_MAX)
    return state
