"""segplane tasks: planned and claimed merge tasks."""

import sys
from typing import Annotated

import typer

from meta.client import MetaClient
from meta.v1 import janitor_pb2 as pb
from meta.v1 import operations_pb2
from segplane.cli.commands import rewrites
from segplane.cli.connection import (
    DEFAULT_ADDRESS,
    EXIT_REFUSED,
    MetaAddress,
    complain,
    connect,
    usage,
)
from segplane.cli.output import NONE, AsJson, print_facts, print_json, print_table, size_text

PAGE_MAX = 10_000
app = typer.Typer(no_args_is_help=True, help="Show, plan and release merge tasks.")
TIME_HELP = "RFC 3339, or an age such as 90m or 7d."
Dataset = Annotated[str | None, typer.Option(help="Only this dataset.")]
WithoutFormat = Annotated[
    int | None,
    typer.Option("--format", min=1, help="Leave out segments of this format. Implies --job."),
]
InexactBounds = Annotated[
    bool,
    typer.Option(
        "--inexact-bounds",
        help="Only segments whose bounds may leave NaN out, as of 0.2.0. Implies --job.",
    ),
]
TaskId = Annotated[str, typer.Argument(help="Task id, as `tasks list` shows it.")]


@app.command("list")
def list_(
    dataset: Dataset = None, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """List the open merge tasks, oldest first."""
    with connect(address) as client:
        request = pb.ListMergeTasksRequest(dataset_name=dataset)
        tasks = client.janitor.ListMergeTasks(request).tasks
    if as_json:
        print_json(tasks)
        return
    rows = [
        (
            t.task_id,
            t.dataset_id,
            t.segment_count,
            t.assigned_to_worker or NONE,
            t.created_at,
            t.assigned_at or NONE,
        )
        for t in tasks
    ]
    print_table(("task", "dataset", "inputs", "worker", "created", "claimed"), rows)


@app.command()
def show(task_id: TaskId, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """Show one merge task, finished ones too."""
    with connect(address) as client:
        task = client.janitor.GetMergeTask(pb.GetMergeTaskRequest(task_id=task_id))
    if as_json:
        print_json(task)
        return
    print_facts(
        (
            ("task", task.task_id),
            ("dataset", task.dataset_id),
            ("worker", task.assigned_to_worker or NONE),
            ("created", task.created_at),
            ("claimed", task.assigned_at or NONE),
            ("inputs", task.segment_count),
            ("total size", size_text(task.total_size)),
            ("compressed", size_text(task.total_compressed_size)),
            ("events from", task.earliest_time or NONE),
            ("events to", task.latest_time or NONE),
        )
    )


@app.command()
def explain(
    dataset: Dataset = None,
    limit: Annotated[int, typer.Option(min=1, help="Most segments to print.")] = 1000,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show for each live segment why it is or is not in a merge task."""
    with connect(address) as client:
        explained, is_cut = _explanations(client, dataset, limit)
    if is_cut:
        print(f"stopped after {len(explained)} segments: --limit prints more", file=sys.stderr)
    if as_json:
        print_json(explained)
        return
    rows = [
        (
            e.segment.id,
            size_text(e.segment.compressed_size_bytes),
            _verdict(e.eligibility),
            e.reason,
        )
        for e in explained
    ]
    print_table(("segment", "size", "verdict", "reason"), rows)


def _explanations(
    client: MetaClient, dataset: str | None, limit: int
) -> tuple[list[operations_pb2.SegmentExplanation], bool]:
    """Read pages up to the limit; also whether there are more."""
    request = operations_pb2.ExplainMergePlanRequest(dataset_name=dataset)
    explained: list[operations_pb2.SegmentExplanation] = []
    while True:
        request.limit = min(limit - len(explained), PAGE_MAX)
        reply = client.operations.ExplainMergePlan(request)
        explained += reply.segments
        if not reply.next_cursor or len(explained) >= limit:
            return explained, bool(reply.next_cursor)
        request.cursor = reply.next_cursor


def _verdict(eligibility: operations_pb2.MergeEligibility.ValueType) -> str:
    if eligibility == operations_pb2.MERGE_ELIGIBILITY_QUARANTINED:
        return "excluded"  # The published name is that of 0.1.0.
    return (
        operations_pb2.MergeEligibility.Name(eligibility).removeprefix("MERGE_ELIGIBILITY_").lower()
    )


@app.command()
def rewrite(
    dataset: Dataset = None,
    as_job: Annotated[
        bool, typer.Option("--job", help="A few tasks at a time, as `segplane rewrites` shows.")
    ] = False,
    format_version: WithoutFormat = None,
    inexact_bounds: InexactBounds = False,
    since: Annotated[
        str | None,
        typer.Option(help=f"Only events from this time on. {TIME_HELP} Implies --job."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help=f"Only events before this time. {TIME_HELP} Implies --job.")
    ] = None,
    tasks_max: rewrites.TasksMax = None,
    mib_per_sec: rewrites.MiBPerSec = None,
    follow: Annotated[
        bool, typer.Option(help="With --job: print progress until the rewrite has ended.")
    ] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Rewrite every segment, such as after a change of sort order, columns or format.

    Without further options a task for each segment is planned at once. With --job (or an option
    that implies it) a rewrite begins that has a few tasks open at a time: it survives restarts, and
    `segplane rewrites` lists, pauses, resumes, bounds and cancels it.
    """
    options = (format_version, since, until, tasks_max, mib_per_sec)
    if as_job or follow or inexact_bounds or any(option is not None for option in options):
        if dataset is None:
            raise usage("a rewrite as a job needs --dataset")
        with connect(address) as client:
            job = rewrites.start(
                client,
                dataset,
                format_version=format_version,
                inexact_bounds=inexact_bounds,
                since=since,
                until=until,
                tasks_max=tasks_max,
                mib_per_sec=mib_per_sec,
            )
            rewrites.show(rewrites.follow(client, job) if follow else job, as_json)
        return
    if as_json:
        raise usage("--json needs --job")
    _rewrite_at_once(dataset, address)


def _rewrite_at_once(dataset: str | None, address: str) -> None:
    request = pb.RewriteAllSegmentsRequest(dataset_name=dataset)
    tasks = 0
    with connect(address) as client:
        while True:
            reply = client.janitor.RewriteAllSegments(request)
            tasks += reply.tasks_created
            print(f"{tasks} segments, a task each")
            if reply.all_planned:
                return


@app.command()
def create(dataset: Dataset = None, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Plan merges now instead of at the janitor's next turn."""
    with connect(address) as client:
        request = pb.CreateMergeTasksRequest(dataset_name=dataset)
        reply = client.janitor.CreateMergeTasks(request)
    print(f"{reply.tasks_created} tasks over {reply.segments_included} segments")


@app.command()
def unclaim(
    task_id: TaskId,
    min_claimed_secs: Annotated[
        int, typer.Option(min=1, help="Only if claimed, and silent, for this long.")
    ] = 3600,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Release a task from its worker; the output of that claim is refused from then on."""
    request = pb.UnclaimMergeTaskRequest(task_id=task_id, min_claimed_secs=min_claimed_secs)
    with connect(address) as client:
        reply = client.janitor.UnclaimMergeTask(request)
    if not reply.unclaimed:
        complain(f"task {task_id} is unknown, not claimed, or claimed less than that ago")
        raise typer.Exit(EXIT_REFUSED)
