"""segplane deletion: state of deletion; its hold, by hand or after a restore, and the release."""

import shlex
from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.output import Answer, facts, size_text, time_text
from segplane.cli.parameters import Option

app = group()


@command(app, "deletion status")
def status(client: MetaClient) -> Answer:
    """Show the version counter, the deletion horizon and the graces."""
    state = client.operations.GetServerState(pb.GetServerStateRequest())
    pairs = (
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
    return Answer(state, (*map(_brake_text, state.deletion_brakes), *facts(pairs)))


@command(app, "deletion hold")
def hold(client: MetaClient, take_over: Annotated[bool, Option()] = False) -> Answer:
    """Hold all deletion and reaping until `segplane deletion release`.

    With --take-over a database that stopped, because a copy of it or an older backup took over its
    bucket, continues and the other one stops. Stop that one first.

    Options:
        take_over: Take the bucket back from another database that has taken it over.
    """
    reply = client.operations.HoldDeletion(pb.HoldDeletionRequest(take_over=take_over))
    return Answer(reply, ["deletion is held" if reply.success else "deletion was held already"])


@command(app, "deletion release --dataset web")
def release(client: MetaClient, dataset: str = "") -> Answer:
    """Release the deletion hold, or the brake of a dataset: deletion is final.

    After a failover or restore run `segplane fsck --deep` first. A brake stops the deletion of a
    dataset that would lose much at once: `segplane deletion status` says how much.

    Options:
        dataset: Release the brake of this dataset, not the hold on all.
    """
    request = pb.ReleaseDeletionHoldRequest(dataset_name=dataset)
    reply = client.operations.ReleaseDeletionHold(request)
    nothing = f"dataset {dataset!r} has no brake" if dataset else "deletion was not held"
    return Answer(reply, [] if reply.success else [nothing])


def _brake_text(brake: "pb.DeletionBrake") -> str:
    return (
        f"{brake.dataset_name}: {brake.segments} segments ({size_text(brake.size_bytes)}) wait for"
        f" `segplane deletion release --dataset {shlex.quote(brake.dataset_name)}`, live are"
        f" {size_text(brake.live_size_bytes)}"
    )


def _witness_text(witness: "pb.WitnessState") -> str:
    """Show whether the database is the one that the bucket knows."""
    if witness.superseded_by:
        return f"history {witness.superseded_by}, of another database that has taken over"
    if witness.restored_reason:
        at = time_text(witness.restored_at_nanos)
        return f"history {witness.history}; restored at {at}: {witness.restored_reason}"
    return f"history {witness.history}" if witness.is_kept else "none: a restore is not noticed"
