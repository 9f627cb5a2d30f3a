"""segplane losses: the ledger of what operators have given up."""

from collections.abc import Iterable
from typing import Annotated

import typer

from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.cli.output import NONE, AsJson, print_json, print_table, time_text
from segplane.recovery.losses import list_losses, loss_text

AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="State that the records may be lost. Required.")
]
Reason = Annotated[str, typer.Option("--reason", help="Kept in the loss ledger.")]


def losses(
    stream: Annotated[str | None, typer.Option("--stream", help="Of one stream, by id.")] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Of one dataset, by id.")] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List the records that operators have accepted to lose, oldest first."""
    with connect(address) as client:
        rows = list_losses(client, stream, dataset)
        if as_json:
            print_json(rows)
        else:
            print_losses(rows)


def print_losses(rows: Iterable[pb.Loss]) -> None:
    """Print rows of the ledger as a table."""
    headers = ("lost", "dataset", "records", "version", "at", "by", "state", "reason")
    print_table(headers, map(_row, rows))


def _row(loss: pb.Loss) -> tuple[object, ...]:
    is_back = loss.HasField("withdrawn_version")
    return (
        loss_text(loss),
        loss.dataset_id or NONE,
        loss.records if loss.HasField("records") else "unknown",
        loss.version,
        time_text(loss.lost_at_nanos),
        loss.actor,
        f"back at {loss.withdrawn_version}" if is_back else "lost",
        loss.reason or NONE,
    )
