"""segplane deletion: state of deletion; its hold, by hand or after a restore, and the release."""

import shlex

from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.output import Answer, facts, size_text, time_text

app = group()


@command(app, "deletion --release --dataset web")
def deletion(
    client: MetaClient,
    hold: bool = False,
    release: bool = False,
    dataset: str = "",
    take_over: bool = False,
) -> Answer:
    """Show the version counter, the deletion horizon and the graces; hold deletion, or release it.

    After a failover or restore run `segplane fsck --deep` before --release: deletion is final. A
    brake stops the deletion of a dataset that would lose much at once; this command says how much.
    With --take-over a database that stopped, because a copy of it or an older backup took over its
    bucket, continues and the other one stops. Stop that one first.

    Options:
        hold: Hold all deletion and reaping until --release.
        release: Release the hold, or with --dataset a brake.
        dataset: Release the brake of this dataset, not the hold on all.
        take_over: With --hold, take the bucket back from another database that has taken it over.
    """
    if hold and release:
        raise usage("--hold and --release exclude each other")
    if (take_over and not hold) or (dataset and not release):
        raise usage("--take-over needs --hold, and --dataset needs --release")
    if hold:
        held = client.operations.HoldDeletion(pb.HoldDeletionRequest(take_over=take_over))
        return Answer(held, ["deletion is held" if held.success else "deletion was held already"])
    if release:
        request = pb.ReleaseDeletionHoldRequest(dataset_name=dataset)
        reply = client.operations.ReleaseDeletionHold(request)
        nothing = f"dataset {dataset!r} has no brake" if dataset else "deletion was not held"
        return Answer(
            reply, [] if reply.success else [nothing], [] if dataset else _still_held(client)
        )
    return _state(client)


def _still_held(client: MetaClient) -> list[str]:
    """Return a note if nothing is deleted after a release."""
    state = client.operations.GetServerState(pb.GetServerStateRequest())
    if not state.deletion_held:
        return []
    return [
        "deletion is still held: a locked dataset is not known since a restore; run `segplane"
        " catalog reconcile`"
    ]


def _state(client: MetaClient) -> Answer:
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


def _brake_text(brake: "pb.DeletionBrake") -> str:
    return (
        f"{brake.dataset_name}: {brake.segments} segments ({size_text(brake.size_bytes)}) wait for"
        f" `segplane deletion --release --dataset {shlex.quote(brake.dataset_name)}`, live are"
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
