"""Reads of parked streams and of the loss ledger, and consent to a loss."""

import getpass
import socket
from collections.abc import Iterator

from meta.client import MetaClient, paged_lists
from meta.v1 import operations_pb2 as pb

_ACTOR_CHARACTERS_MAX = 255


def list_parked(client: MetaClient) -> Iterator[pb.ParkedStream]:
    """Yield the streams that cannot pass a baby segment."""
    request = pb.ListParkedStreamsRequest()
    for page in paged_lists.replies(client.operations.ListParkedStreams, request):
        yield from page.streams


def list_losses(
    client: MetaClient, stream_id: str | None = None, dataset_id: str | None = None
) -> Iterator[pb.Loss]:
    """Yield the loss ledger, oldest first, of all or of one stream or dataset."""
    request = pb.ListLossesRequest(stream_id=stream_id, dataset_id=dataset_id)
    for page in paged_lists.replies(client.operations.ListLosses, request):
        yield from page.losses


def acceptance(reason: str) -> pb.LossAcceptance:
    """Consent of the user of this command, for the ledger."""
    actor = f"{getpass.getuser()}@{socket.gethostname()}"
    return pb.LossAcceptance(accept_loss=True, actor=actor[:_ACTOR_CHARACTERS_MAX], reason=reason)


def loss_text(loss: pb.Loss) -> str:
    """Name the object that was given up."""
    if loss.kind == pb.LOSS_KIND_BABY:
        return f"baby segment {loss.stream_id}/{loss.offset}"
    if loss.kind == pb.LOSS_KIND_SEGMENT:
        return f"segment {loss.segment_id}"
    return f"payload {loss.object_key}"
