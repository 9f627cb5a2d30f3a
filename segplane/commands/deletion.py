"""segplane deletion: state of deletion, and release of a hold after a failover or restore."""

import typer

from meta.v1 import operations_pb2 as pb
from segplane.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.output import AsJson, print_facts, print_json, time_text

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
    print_facts(
        (
            ("deletion", "held" if state.deletion_held else "running"),
            ("version", state.version),
            ("versions expired below", state.deletion_horizon),
            ("tombstone grace", state.tombstone_grace.ToTimedelta()),
            ("cursor lifetime", state.cursor_lifetime.ToTimedelta()),
            ("orphans are older than", state.orphan_min_age.ToTimedelta()),
            ("database time", time_text(state.database_time_nanos)),
        )
    )


@app.command()
def release(address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Release the deletion hold. Run `segplane fsck --deep` first: deletion is final."""
    with connect(address) as client:
        reply = client.operations.ReleaseDeletionHold(pb.ReleaseDeletionHoldRequest())
    if not reply.success:
        print("deletion was not held")
