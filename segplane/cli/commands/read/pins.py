"""segplane pins: versions that readers keep from being deleted."""

from collections.abc import Iterable

from segplane.cli.connection import refusal
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.nouns import Noun, pages
from segplane.cli.options import OnlyDataset
from segplane.cli.output import Answer, size_text, time_text

pins: "Noun[pb.Pin]" = Noun(
    "pins",
    {
        "id": "id",
        "owner": "owner",
        "dataset": "dataset_name",
        "version": "version",
        "taken": lambda pin: time_text(pin.created_at_nanos),
        "expires": lambda pin: time_text(pin.expires_at_nanos),
        "ends": lambda pin: time_text(pin.ends_at_nanos),
        "segments": "held_segments",
        "held": lambda pin: size_text(pin.held_bytes),
        "principal": "principal",
    },
)
app = pins.app


@pins.lists
def list_(
    client: MetaClient, dataset: OnlyDataset = None, owner: str | None = None
) -> "Iterable[pb.Pin]":
    """List the pins, and the tombstoned segments that each one held at its last renewal.

    Options:
        owner: Only pins of this owner.
    """
    request = pb.ListPinsRequest(dataset_name=dataset, owner=owner)
    return pages(client.operations.ListPins, request)


@pins.command("release", "{}")
def release(client: MetaClient, pin_id: str) -> Answer:
    """End a pin. Its reader gets VERSION_EXPIRED and may miss objects from now on.

    Options:
        pin_id: Id, as `pins list` shows it.
    """
    reply = client.operations.ReleasePin(pb.ReleasePinRequest(pin_id=pin_id, by_operator=True))
    if not reply.success:
        raise refusal(f"there is no pin {pin_id}")
    return Answer(reply)
