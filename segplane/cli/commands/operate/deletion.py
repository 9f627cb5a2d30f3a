"""segplane deletion: its state, its hold and release, and the plan of what will be deleted."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group, with_subcommands
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.output import NONE, Answer, facts, message_dict, size_text, table, time_text
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from segplane.health.deletions import DeletionForecast

app = group()
ROWS_MAX = 1_000


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


plans = with_subcommands(app, "deletion")


@command(plans, "deletion plan web")
def plan(
    client: MetaClient,
    dataset: Annotated[
        str | None,
        Positional(metavar="[DATASET]", help="Only this dataset, by name, or a deleted one by id."),
    ] = None,
    limit: Annotated[
        int, Option(min=1, max=ROWS_MAX, help="Most rows of each table; the soonest come first.")
    ] = 100,
) -> Answer:
    """Show which segments will be deleted when, and what the others wait for.

    Hours count from now, for a week. A live segment is read until its retention ends, and deleted
    a grace later. Orphans are not in it: the janitor finds them in the bucket. The exit code is 1
    if deletion needs a person: it is held, or a brake is on or about to be.
    """
    from segplane.health.deletions import read_forecast

    forecast = read_forecast(client, dataset, limit)
    return Answer(_plan_data(forecast), _plan_lines(forecast), exit_code=int(bool(forecast.needs)))


def _plan_data(forecast: "DeletionForecast") -> dict[str, object]:
    reply = forecast.plan
    return {
        "ok": not forecast.needs,
        "needs": list(forecast.needs),
        **message_dict(reply),
        "planned": [_row(row, "cause", "DELETION_CAUSE_") for row in reply.planned],
        "waiting": [_row(row, "obstacle", "DELETION_OBSTACLE_") for row in reply.waiting],
    }


def _row(row: "Message", word: str, prefix: str) -> dict[str, object]:
    """Return a row with one of its fields as a word in lower case."""
    fields = message_dict(row)
    return {**fields, word: str(fields[word]).removeprefix(prefix).lower()}


def _plan_lines(forecast: "DeletionForecast") -> Iterator[str]:
    from segplane.health.deletions import CAUSES, amount_text, obstacle_text, when

    reply = forecast.plan
    yield forecast.headline
    for need in forecast.needs:
        yield f"  - {need}"
    if reply.planned:
        rows = (
            (
                when(row.hour),
                row.dataset_name,
                row.segments,
                size_text(row.size_bytes),
                CAUSES.get(row.cause, NONE),
            )
            for row in reply.planned
        )
        yield from ("", *table(("due", "dataset", "segments", "size", "by"), rows))
    if reply.planned_left_out.rows:
        left_out = reply.planned_left_out
        yield f"and later in {left_out.rows} more rows: {amount_text(left_out)}"
    if reply.waiting:
        rows = (
            (
                obstacle_text(row),
                row.dataset_name,
                row.segments,
                size_text(row.size_bytes),
                time_text(row.until_nanos),
            )
            for row in reply.waiting
        )
        yield from ("", *table(("waits for", "dataset", "segments", "size", "until"), rows))
    if reply.waiting_left_out.rows:
        left_out = reply.waiting_left_out
        yield f"and in {left_out.rows} more rows: {amount_text(left_out)}"
    if reply.table_objects_due.objects or reply.table_objects_kept.objects:
        due, kept = reply.table_objects_due, reply.table_objects_kept
        yield (
            f"metadata of Iceberg tables: {due.objects} objects ({size_text(due.size_bytes)}) are"
            f" due, {kept.objects} ({size_text(kept.size_bytes)}) are in use"
        )
    for unfinished in reply.unfinished_vacuums:
        since = time_text(unfinished.requested_at_nanos)
        yield f"vacuum {unfinished.id} since {since}: {unfinished.segments} segments are deleted"


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
