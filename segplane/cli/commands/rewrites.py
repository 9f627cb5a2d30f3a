"""segplane rewrites: rewrites of segments as jobs, with pause, limits and progress."""

import sys
import time
from datetime import UTC, datetime
from typing import Annotated
from uuid import uuid4

import typer

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from segments.location import DEFAULT_STORE
from segplane.cli.connection import (
    DEFAULT_ADDRESS,
    EXIT_REFUSED,
    MetaAddress,
    complain,
    connect,
    usage,
)
from segplane.cli.output import NONE, AsJson, print_json, print_table, size_text
from segplane.terminal.times import parse_time

app = typer.Typer(
    no_args_is_help=True, help="List, pause, resume, cancel and bound rewrites of segments."
)
RewriteId = Annotated[str, typer.Argument(help="Rewrite id, as `rewrites list` shows it.")]
MiBPerSec = Annotated[
    float | None, typer.Option(min=0, help="Compressed MiB a second to read at most; 0: no limit.")
]
TasksMax = Annotated[
    int | None, typer.Option(min=1, max=1_000, help="Most tasks that are open at a time.")
]
MIB = 1024 * 1024
_FOLLOW_SECS = 1.0
_TIME_MAX = 2**63 - 1
_HEADERS = (
    "rewrite",
    "dataset",
    "state",
    "format",
    "done",
    "segments",
    "size",
    "open",
    "left",
    "moves to",
)


@app.command("list")
def list_(
    dataset: Annotated[str | None, typer.Option(help="Only this dataset.")] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List rewrites with their progress, unfinished ones first; finished ones for 30 days."""
    with connect(address) as client:
        request = pb.ListRewriteJobsRequest(limit=1_000)
        if dataset is not None:
            request.dataset_id = _dataset_id(client, dataset)
        rewrites = client.operations.ListRewriteJobs(request).rewrites
    if as_json:
        print_json(rewrites)
    else:
        print_table(_HEADERS, [_row(rewrite) for rewrite in rewrites])


@app.command()
def pause(
    rewrite_id: RewriteId, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Create no further tasks until `resume`; open tasks are finished."""
    _set_state(rewrite_id, pb.REWRITE_JOB_STATE_PAUSED, address, as_json)


@app.command()
def resume(
    rewrite_id: RewriteId, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Continue a paused rewrite."""
    _set_state(rewrite_id, pb.REWRITE_JOB_STATE_RUNNING, address, as_json)


@app.command()
def cancel(
    rewrite_id: RewriteId, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """End a rewrite permanently; its outputs stay, and workers finish their tasks."""
    _set_state(rewrite_id, pb.REWRITE_JOB_STATE_CANCELLED, address, as_json)


@app.command()
def limit(
    rewrite_id: RewriteId,
    tasks_max: TasksMax = None,
    mib_per_sec: MiBPerSec = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Change how many tasks a rewrite has open, and how fast it reads."""
    request = pb.UpdateRewriteJobRequest(id=rewrite_id, tasks_max=tasks_max)
    if mib_per_sec is not None:
        request.bytes_per_sec = int(mib_per_sec * MIB)
    with connect(address) as client:
        rewrite = client.operations.UpdateRewriteJob(request).rewrite
    show(rewrite, as_json)


@app.command("follow")
def follow_(
    rewrite_id: RewriteId, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Print progress to standard error until a rewrite has ended or is paused."""
    with connect(address) as client:
        show(follow(client, _get(client, rewrite_id)), as_json)


def start(
    client: MetaClient,
    dataset: str,
    *,
    format_version: int | None,
    inexact_bounds: bool,
    since: str | None,
    until: str | None,
    tasks_max: int | None,
    mib_per_sec: float | None,
) -> pb.RewriteJob:
    """Begin a rewrite of a dataset; the calls are repeated under one id."""
    request = pb.CreateRewriteJobRequest(
        id=str(uuid4()),
        dataset_id=_dataset_id(client, dataset),
        format_version=format_version or 0,
        inexact_bounds=inexact_bounds,
        time_range=_time_range(since, until),
        tasks_max=tasks_max or 0,
        bytes_per_sec=int((mib_per_sec or 0) * MIB),
    )
    return client.operations.CreateRewriteJob(request).rewrite


def follow(client: MetaClient, rewrite: pb.RewriteJob) -> pb.RewriteJob:
    """Print progress to standard error until a rewrite has ended or is paused."""
    while rewrite.state == pb.REWRITE_JOB_STATE_RUNNING:
        print(_progress(rewrite), file=sys.stderr)
        time.sleep(_FOLLOW_SECS)
        rewrite = _get(client, rewrite.id)
    print(_progress(rewrite), file=sys.stderr)
    return rewrite


def _get(client: MetaClient, rewrite_id: str) -> pb.RewriteJob:
    """Read a rewrite: a change of nothing returns it."""
    request = pb.UpdateRewriteJobRequest(id=rewrite_id)
    return client.operations.UpdateRewriteJob(request).rewrite


def _set_state(
    rewrite_id: str, state: pb.RewriteJobState.ValueType, address: str, as_json: bool
) -> None:
    request = pb.UpdateRewriteJobRequest(id=rewrite_id, state=state)
    with connect(address) as client:
        rewrite = client.operations.UpdateRewriteJob(request).rewrite
    show(rewrite, as_json)
    if rewrite.state != state:
        complain(f"the rewrite is {_state(rewrite)} already")
        raise typer.Exit(EXIT_REFUSED)


def show(rewrite: pb.RewriteJob, as_json: bool) -> None:
    """Print one rewrite."""
    if as_json:
        print_json(rewrite)
    else:
        print_table(_HEADERS, [_row(rewrite)])


def _row(rewrite: pb.RewriteJob) -> tuple[object, ...]:
    return (
        rewrite.id,
        rewrite.dataset_name,
        _state(rewrite),
        rewrite.format_version or NONE,
        f"{_percent(rewrite)} %",
        f"{rewrite.segments_done}/{rewrite.segments_total}",
        size_text(rewrite.bytes_total),
        rewrite.open_tasks,
        _left(rewrite),
        (rewrite.store or DEFAULT_STORE) if rewrite.HasField("store") else NONE,
    )


def _progress(rewrite: pb.RewriteJob) -> str:
    return (
        f"{_state(rewrite)}: {rewrite.segments_done} of {rewrite.segments_total} segments,"
        f" {_percent(rewrite)} % of {size_text(rewrite.bytes_total)}, left: {_left(rewrite)}"
    )


def _percent(rewrite: pb.RewriteJob) -> int:
    """Share of the bytes; merges may have taken the rest of a finished rewrite."""
    if rewrite.state == pb.REWRITE_JOB_STATE_DONE or not rewrite.bytes_total:
        return 100 if rewrite.state == pb.REWRITE_JOB_STATE_DONE else 0
    return min(99, 100 * rewrite.bytes_done // rewrite.bytes_total)


def _left(rewrite: pb.RewriteJob) -> str:
    return f"{rewrite.secs_left} s" if rewrite.HasField("secs_left") else NONE


def _state(rewrite: pb.RewriteJob) -> str:
    return pb.RewriteJobState.Name(rewrite.state).removeprefix("REWRITE_JOB_STATE_").lower()


def _dataset_id(client: MetaClient, name: str) -> str:
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id


def _time_range(since: str | None, until: str | None) -> common_pb2.TimeRange | None:
    if since is None and until is None:
        return None
    now = datetime.now(UTC)
    try:
        start_time = 0 if since is None else parse_time(since, now)
        end_time = _TIME_MAX if until is None else parse_time(until, now)
    except ValueError as error:
        raise usage(str(error)) from error
    return common_pb2.TimeRange(start_time=start_time, end_time=end_time)
