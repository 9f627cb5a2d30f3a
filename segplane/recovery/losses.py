"""Reads of parked streams and of the loss ledger, and consent to a loss."""

import getpass
import socket
from collections.abc import Iterator

from meta.client import MetaClient
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb

_PAGE = 1_000
_ACTOR_CHARACTERS_MAX = 255


def list_parked(client: MetaClient) -> Iterator[pb.ParkedStream]:
    """Yield the streams that cannot pass a baby segment."""
    request = pb.ListParkedStreamsRequest(pagination=catalog_pb2.PaginationRequest(limit=_PAGE))
    while True:
        reply = client.operations.ListParkedStreams(request)
        yield from reply.streams
        if not reply.pagination.next_cursor:
            return
        request.pagination.after = reply.pagination.next_cursor


def list_losses(
    client: MetaClient, stream_id: str | None = None, dataset_id: str | None = None
) -> Iterator[pb.Loss]:
    """Yield the loss ledger, oldest first, of all or of one stream or dataset."""
    request = pb.ListLossesRequest(
        pagination=catalog_pb2.PaginationRequest(limit=_PAGE),
        stream_id=stream_id,
        dataset_id=dataset_id,
    )
    while True:
        reply = client.operations.ListLosses(request)
        yield from reply.losses
        if not reply.pagination.next_cursor:
            return
        request.pagination.after = reply.pagination.next_cursor


def acceptance(reason: str) -> pb.LossAcceptance:
    """Consent of the user who runs this command, for the ledger."""
    actor = f"{getpass.getuser()}@{socket.gethostname()}"
    return pb.LossAcceptance(accept_loss=True, actor=actor[:_ACTOR_CHARACTERS_MAX], reason=reason)


def loss_text(loss: pb.Loss) -> str:
    """Name the object that was given up."""
    if loss.kind == pb.LOSS_KIND_BABY:
        return f"baby segment {loss.stream_id}/{loss.offset}"
    if loss.kind == pb.LOSS_KIND_SEGMENT:
        return f"segment {loss.segment_id}"
    return f"payload {loss.object_key}"
