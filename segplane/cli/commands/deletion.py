"""segplane deletion: state of deletion, and release of a hold after a failover or restore."""

import shlex
from typing import Annotated

import typer

from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.cli.output import AsJson, print_facts, print_json, size_text, time_text

app = typer.Typer(
    no_args_is_help=True,
    help="Show deletion state, and release the hold after a failover or restore.",
)


@app.command()
def status(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """Show the version counter, the deletion horizon and the graces."""
    with connect(address) as client:
        state = client.operations.GetServerState(pb.GetServerStateRequest())
    if as_json:
        print_json(state)
        return
    for brake in state.deletion_brakes:
        name, held = shlex.quote(brake.dataset_name), size_text(brake.size_bytes)
        print(
            f"{brake.dataset_name}: {brake.segments} segments ({held}) wait for `segplane deletion"
            f" release --dataset {name}`, live are {size_text(brake.live_size_bytes)}"
        )
    print_facts(
        (
            ("deletion", "held" if state.deletion_held else "running"),
            ("datasets with a brake", len(state.deletion_brakes)),
            ("version", state.version),
            ("versions expired below", state.deletion_horizon),
            ("tombstone grace", state.tombstone_grace.ToTimedelta()),
            ("cursor lifetime", state.cursor_lifetime.ToTimedelta()),
            ("orphans are older than", state.orphan_min_age.ToTimedelta()),
            ("database time", time_text(state.database_time_nanos)),
        )
    )


@app.command()
def release(
    dataset: Annotated[
        str, typer.Option(help="Release the brake of this dataset, not the hold on all.")
    ] = "",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Release the deletion hold, or the brake of a dataset: deletion is final.

    After a failover or restore run `segplane fsck --deep` first. A brake stops the deletion of a
    dataset that would lose much at once: `segplane deletion status` says how much.
    """
    request = pb.ReleaseDeletionHoldRequest(dataset_name=dataset)
    with connect(address) as client:
        reply = client.operations.ReleaseDeletionHold(request)
    if not reply.success:
        print(f"dataset {dataset!r} has no brake" if dataset else "deletion was not held")
