"""segplane deletion: state of deletion; its hold, by hand or after a restore, and the release."""

import shlex
from typing import Annotated

import typer

from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.cli.output import AsJson, print_facts, print_json, size_text, time_text

app = typer.Typer(
    no_args_is_help=True,
    help="Show the state of deletion; hold it, and release it after a failover or restore.",
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
            ("witness in the bucket", _witness_text(state.witness)),
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
def hold(
    take_over: Annotated[
        bool,
        typer.Option(help="Take the bucket back from another database that has taken it over."),
    ] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Hold all deletion and reaping until `segplane deletion release`.

    With --take-over a database that stopped, because a copy of it or an older backup took over its
    bucket, continues and the other one stops. Stop that one first.
    """
    with connect(address) as client:
        reply = client.operations.HoldDeletion(pb.HoldDeletionRequest(take_over=take_over))
    print("deletion is held" if reply.success else "deletion was held already")


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


def _witness_text(witness: pb.WitnessState) -> str:
    """Show whether the database is the one that the bucket knows."""
    if witness.superseded_by:
        return f"history {witness.superseded_by}, of another database that has taken over"
    if witness.restored_reason:
        at = time_text(witness.restored_at_nanos)
        return f"history {witness.history}; restored at {at}: {witness.restored_reason}"
    return f"history {witness.history}" if witness.is_kept else "none: a restore is not noticed"
