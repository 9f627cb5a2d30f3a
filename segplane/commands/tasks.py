"""segplane tasks: planned and claimed merge tasks."""

from typing import Annotated

import typer

from meta.v1 import janitor_pb2 as pb
from meta.v1 import operations_pb2
from segplane.connection import DEFAULT_ADDRESS, EXIT_REFUSED, MetaAddress, complain, connect
from segplane.output import NONE, AsJson, print_facts, print_json, print_table, size_text

app = typer.Typer(no_args_is_help=True, help="Show, plan and release merge tasks.")
Dataset = Annotated[str | None, typer.Option(help="Only this dataset.")]
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
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most segments to print.")] = 1000,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show for each live segment why it is or is not in a merge task."""
    with connect(address) as client:
        request = operations_pb2.ExplainMergePlanRequest(dataset_name=dataset, limit=limit)
        explained = client.operations.ExplainMergePlan(request).segments
    if as_json:
        print_json(explained)
        return
    prefix = "MERGE_ELIGIBILITY_"
    rows = [
        (
            e.segment.id,
            size_text(e.segment.compressed_size_bytes),
            operations_pb2.MergeEligibility.Name(e.eligibility).removeprefix(prefix).lower(),
            e.reason,
        )
        for e in explained
    ]
    print_table(("segment", "size", "verdict", "reason"), rows)


@app.command()
def rewrite(dataset: Dataset = None, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Plan a rewrite of every segment, such as after a change of sort order or columns."""
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
