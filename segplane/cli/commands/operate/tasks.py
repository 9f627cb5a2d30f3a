"""segplane tasks: planned and claimed merge tasks."""

from collections.abc import Iterable
from typing import Annotated, Any
from uuid import uuid4

from segplane.cli.commands.operate import rewrites
from segplane.cli.connection import refusal, usage
from segplane.cli.messages import MetaClient, operations_pb2
from segplane.cli.messages import janitor_pb2 as pb
from segplane.cli.nouns import Noun
from segplane.cli.options import TIME_HELP, OnlyDataset, dataset_id, time_range
from segplane.cli.output import NONE, Answer, listing, size_text
from segplane.cli.parameters import Option, Positional

PAGE_MAX = 10_000
TaskId = Annotated[str, Positional(help="Task id, as `tasks list` shows it.")]


tasks: "Noun[Any]" = Noun(
    "tasks",
    {
        "task": "task_id",
        "dataset": "dataset_id",
        "inputs": "segment_count",
        "worker": "assigned_to_worker",
        "created": "created_at",
        "claimed": "assigned_at",
    },
    lambda task: (
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
    ),
)
app = tasks.app


@tasks.lists
def list_(client: MetaClient, dataset: OnlyDataset = None) -> "Iterable[pb.MergeTaskSummary]":
    """List the open merge tasks, oldest first."""
    request = pb.ListMergeTasksRequest(dataset_name=dataset)
    return client.janitor.ListMergeTasks(request).tasks


@tasks.shows
def show(client: MetaClient, task_id: TaskId) -> "pb.GetMergeTaskResponse":
    """Show one merge task, finished ones too."""
    return client.janitor.GetMergeTask(pb.GetMergeTaskRequest(task_id=task_id))


@tasks.command("explain", "--dataset web")
def explain(
    client: MetaClient,
    dataset: OnlyDataset = None,
    limit: Annotated[int, Option(min=1)] = 1000,
) -> Answer:
    """Show for each live segment why it is or is not in a merge task.

    Options:
        limit: Most segments to print.
    """
    explained, is_cut = _explanations(client, dataset, limit)
    note = f"stopped after {len(explained)} segments: --limit prints more"
    return listing(
        explained,
        {
            "segment": lambda row: row.segment.id,
            "size": lambda row: size_text(row.segment.compressed_size_bytes),
            "verdict": lambda row: _verdict(row.eligibility),
            "reason": "reason",
        },
        notes=[note] * is_cut,
    )


def _explanations(
    client: MetaClient, dataset: str | None, limit: int
) -> "tuple[list[operations_pb2.SegmentExplanation], bool]":
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


def _verdict(eligibility: "operations_pb2.MergeEligibility.ValueType") -> str:

    if eligibility == operations_pb2.MERGE_ELIGIBILITY_QUARANTINED:
        return "excluded"  # The published name is that of 0.1.0.
    return (
        operations_pb2.MergeEligibility.Name(eligibility).removeprefix("MERGE_ELIGIBILITY_").lower()
    )


@tasks.command("rewrite", "--dataset web --format 2 --follow")
def rewrite(
    client: MetaClient,
    dataset: OnlyDataset = None,
    as_job: Annotated[bool, Option("--job")] = False,
    format_version: Annotated[int | None, Option("--format", min=1)] = None,
    inexact_bounds: bool = False,
    since: Annotated[
        str | None,
        Option(help=f"Only events from this time on. {TIME_HELP} Implies --job."),
    ] = None,
    until: Annotated[
        str | None, Option(help=f"Only events before this time. {TIME_HELP} Implies --job.")
    ] = None,
    tasks_max: rewrites.TasksMax = None,
    mib_per_sec: rewrites.MiBPerSec = None,
    follow: rewrites.Follow = False,
) -> Answer:
    """Rewrite every segment, such as after a change of sort order, columns or format.

    Without further options a task for each segment is planned at once. With --job (or an option
    that implies it) a rewrite begins that has a few tasks open at a time: it survives restarts, and
    `segplane rewrites` lists, pauses, resumes, bounds and cancels it.

    Options:
        as_job: A few tasks at a time, as `segplane rewrites` shows.
        format_version: Skip segments of this format. Implies --job.
        inexact_bounds: Only segments whose bounds may leave NaN out, as of 0.2.0. Implies --job.
    """
    options = (format_version, since, until, tasks_max, mib_per_sec)
    if not (as_job or follow or inexact_bounds or any(o is not None for o in options)):
        return _rewrite_at_once(client, dataset)
    if dataset is None:
        raise usage("a rewrite as a job needs --dataset")
    request = operations_pb2.CreateRewriteJobRequest(
        id=str(uuid4()),
        dataset_id=dataset_id(client, dataset),
        format_version=format_version or 0,
        inexact_bounds=inexact_bounds,
        time_range=time_range(since, until),
        tasks_max=tasks_max or 0,
        bytes_per_sec=int((mib_per_sec or 0) * rewrites.MIB),
    )
    return rewrites.created(client, request, follow=follow)


def _rewrite_at_once(client: MetaClient, dataset: str | None) -> Answer:

    request = pb.RewriteAllSegmentsRequest(dataset_name=dataset)
    created = 0
    while True:
        reply = client.janitor.RewriteAllSegments(request)
        created += reply.tasks_created
        if reply.all_planned:
            return Answer({"tasks_created": created}, [f"{created} segments, a task each"])


@tasks.command("create", "--dataset web")
def create(client: MetaClient, dataset: OnlyDataset = None) -> Answer:
    """Plan merges now instead of at the janitor's next turn."""
    reply = client.janitor.CreateMergeTasks(pb.CreateMergeTasksRequest(dataset_name=dataset))
    return Answer(reply, [f"{reply.tasks_created} tasks over {reply.segments_included} segments"])


@tasks.command("unclaim", "{}")
def unclaim(
    client: MetaClient,
    task_id: TaskId,
    min_claimed_secs: Annotated[int, Option(min=1)] = 3600,
) -> Answer:
    """Release a task from its worker; the output of that claim is refused from then on.

    Options:
        min_claimed_secs: Only if claimed, and silent, for this long.
    """
    request = pb.UnclaimMergeTaskRequest(task_id=task_id, min_claimed_secs=min_claimed_secs)
    reply = client.janitor.UnclaimMergeTask(request)
    if not reply.unclaimed:
        raise refusal(f"task {task_id} is unknown, not claimed, or claimed less than that ago")
    return Answer(reply)
