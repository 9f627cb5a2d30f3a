"""segplane pins: versions that readers keep from being deleted."""

from collections.abc import Iterator
from typing import Annotated

import typer

from meta.client import MetaClient, paged_lists
from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import DEFAULT_ADDRESS, EXIT_REFUSED, MetaAddress, complain, connect
from segplane.cli.output import NONE, AsJson, print_json, print_table, size_text, time_text

app = typer.Typer(
    no_args_is_help=True,
    help="List and release pins: versions whose segments readers keep from being deleted.",
)


@app.command("list")
def list_(
    dataset: Annotated[str | None, typer.Option(help="Only pins of this dataset.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only pins of this owner.")] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List the pins, and the tombstoned segments that each one held at its last renewal."""
    with connect(address) as client:
        if as_json:
            print_json(_all_pins(client, dataset, owner))
            return
        rows = [_row(pin) for pin in _all_pins(client, dataset, owner)]
    headers = ("id", "owner", "dataset", "version", "taken", "expires", "ends", "segments", "held")
    print_table((*headers, "principal"), rows)


@app.command()
def release(
    pin_id: Annotated[str, typer.Argument(help="Id, as `pins list` shows it.")],
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """End a pin. Its reader gets VERSION_EXPIRED and may miss objects from now on."""
    with connect(address) as client:
        request = pb.ReleasePinRequest(pin_id=pin_id, by_operator=True)
        reply = client.operations.ReleasePin(request)
    if not reply.success:
        complain(f"there is no pin {pin_id}")
        raise typer.Exit(EXIT_REFUSED)


def _all_pins(client: MetaClient, dataset: str | None, owner: str | None) -> Iterator[pb.Pin]:
    request = pb.ListPinsRequest(dataset_name=dataset, owner=owner)
    for page in paged_lists.replies(client.operations.ListPins, request):
        yield from page.pins


def _row(pin: pb.Pin) -> tuple[object, ...]:
    return (
        pin.id,
        pin.owner,
        pin.dataset_name,
        pin.version,
        time_text(pin.created_at_nanos),
        time_text(pin.expires_at_nanos),
        time_text(pin.ends_at_nanos),
        pin.held_segments,
        size_text(pin.held_bytes),
        pin.principal or NONE,
    )
