"""The ways out of damage that cost records, and the ledger of their losses."""

from meta.errors import InvalidArgument
from meta.services.messages import checks, convert, pages
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.damage import losses, parked_streams, segment_repairs, take_backs
from meta.store.damage.losses import Acceptance, Loss
from meta.v1 import operations_pb2 as pb
from segments.offsets import OffsetSpan

REASON_CHARACTERS_MAX = 1_000
# A range has 60 bytes, so they fit into 3.5 MiB.
RANGES_MAX = 50_000


def park_stream(server: ServerParts, request: pb.ParkStreamRequest) -> pb.ParkStreamResponse:
    """Record that a stream cannot pass a baby segment now."""
    stream_id = checks.uuid(request.stream_id, "stream_id")
    offset = checks.count(request.offset, "offset")
    reason = checks.text(request.reason, "reason", characters_max=REASON_CHARACTERS_MAX, lines=True)
    parking = server.transactions.write(
        lambda tx: parked_streams.park(tx, stream_id, offset, reason)
    )
    return pb.ParkStreamResponse(
        retry_secs=parking.retry_secs, merged=parking.is_merged, skipped=parking.is_skipped
    )


def list_parked_streams(
    server: ServerParts, request: pb.ListParkedStreamsRequest
) -> pb.ListParkedStreamsResponse:
    """Page through the streams that cannot pass a baby segment."""
    window = pages.window(request.pagination, "ListParkedStreams")
    page = server.transactions.read(lambda tx: parked_streams.list_page(tx, window))
    return pb.ListParkedStreamsResponse(
        streams=[filled(pb.ParkedStream, parked) for parked in page.items],
        pagination=pages.answer(page, "ListParkedStreams"),
    )


def skip_offset(server: ServerParts, request: pb.SkipOffsetRequest) -> pb.SkipOffsetResponse:
    """Move every entry of a stream past a baby segment that cannot be read."""
    stream_id = checks.uuid(request.stream_id, "stream_id")
    offset = checks.count(request.offset, "offset")
    acceptance = acceptance_of(request.acceptance)
    lost = server.transactions.write(
        lambda tx: parked_streams.skip(tx, stream_id, offset, acceptance)
    )
    return pb.SkipOffsetResponse(version=lost[0].version, losses=map(_message, lost))


def hide_segment(server: ServerParts, request: pb.HideSegmentRequest) -> pb.HideSegmentResponse:
    """Hide a live segment whose object is missing or damaged."""
    segment_id = checks.uuid(request.segment_id, "segment_id")
    acceptance = acceptance_of(request.acceptance)
    segment, loss = server.transactions.write(
        lambda tx: segment_repairs.hide(tx, segment_id, acceptance)
    )
    return pb.HideSegmentResponse(
        version=loss.version,
        loss=_message(loss),
        segment=convert.segment_info(server.settings.stores, segment),
    )


def replace_segment(
    server: ServerParts, request: pb.ReplaceSegmentRequest
) -> pb.ReplaceSegmentResponse:
    """Let a new object of the same records take a segment's place."""
    segment_id = checks.uuid(request.segment_id, "segment_id")
    acceptance = consent_of(request.acceptance)
    new = convert.new_segment(server.settings.stores, request.segment, "segment")
    ranges = checks.each(request.ranges, "ranges", RANGES_MAX, _range)
    replacement = server.transactions.write(
        lambda tx: segment_repairs.replace(
            tx, segment_id, new, ranges, acceptance, accepts_altered=request.accept_altered
        )
    )
    return pb.ReplaceSegmentResponse(
        version=replacement.version, segment_id=str(replacement.segment_id)
    )


def take_back_replacement(
    server: ServerParts, request: pb.TakeBackReplacementRequest
) -> pb.TakeBackReplacementResponse:
    """Tombstone a replacement and hide the segment that it replaced."""
    segment_id = checks.uuid(request.segment_id, "segment_id")
    acceptance = acceptance_of(request.acceptance)
    taken = server.transactions.write(lambda tx: take_backs.take_back(tx, segment_id, acceptance))
    return pb.TakeBackReplacementResponse(
        version=taken.loss.version,
        loss=_message(taken.loss),
        replacement=convert.segment_info(server.settings.stores, taken.replacement),
        original=convert.segment_info(server.settings.stores, taken.original),
    )


def list_losses(server: ServerParts, request: pb.ListLossesRequest) -> pb.ListLossesResponse:
    """Page through the loss ledger."""
    stream_id = checks.filter_uuid(request, "stream_id")
    dataset_id = checks.filter_uuid(request, "dataset_id")
    window = pages.window(request.pagination, "ListLosses", stream_id, dataset_id)
    page = server.transactions.read(lambda tx: losses.list_page(tx, window, stream_id, dataset_id))
    return pb.ListLossesResponse(
        losses=map(_message, page.items),
        pagination=pages.answer(page, "ListLosses", stream_id, dataset_id),
    )


def acceptance_of(message: pb.LossAcceptance) -> Acceptance:
    """Read a consent to a loss. Raises InvalidArgument."""
    if not message.accept_loss:
        raise InvalidArgument("accept_loss is not set", field="acceptance.accept_loss")
    return consent_of(message)


def consent_of(message: pb.LossAcceptance) -> Acceptance:
    """Read the author and the reason of an action that loses nothing. Raises InvalidArgument."""
    actor = checks.name(message.actor, "acceptance.actor")
    reason = checks.text(
        message.reason, "acceptance.reason", characters_max=REASON_CHARACTERS_MAX, lines=True
    )
    return Acceptance(actor, reason)


def _range(message: pb.OffsetRange, field: str) -> OffsetSpan:
    stream_id = checks.uuid(message.stream_id, f"{field}.stream_id")
    first = checks.count(message.first_offset, f"{field}.first_offset")
    last = checks.count(message.last_offset, f"{field}.last_offset", low=first)
    return OffsetSpan(str(stream_id), first, last)


def _message(loss: Loss) -> pb.Loss:
    lost_at_nanos = int(loss.lost_at.timestamp() * 1_000_000) * 1_000
    return filled(pb.Loss, loss, lost_at_nanos=lost_at_nanos)
