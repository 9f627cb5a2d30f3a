"""segplane rewrites: rewrites of segments as jobs, with pause, limits and progress."""

import sys
import time
from collections.abc import Iterable
from typing import Annotated, Literal

from segplane.cli.connection import EXIT_REFUSED, complain
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.nouns import Noun
from segplane.cli.options import OnlyDataset, dataset_id
from segplane.cli.output import NONE, Answer, size_text
from segplane.cli.parameters import Option, Positional

RewriteId = Annotated[str, Positional(help="Rewrite id, as `rewrites list` shows it.")]
MiBPerSec = Annotated[
    float | None, Option(min=0, help="Compressed MiB a second to read at most; 0: no limit.")
]
TasksMax = Annotated[
    int | None, Option(min=1, max=1_000, help="Most tasks that are open at a time.")
]
Follow = Annotated[
    bool,
    Option("--follow", help="Print progress to standard error until it has ended or is paused."),
]
MIB = 1024 * 1024
_FOLLOW_SECS = 1.0


rewrites: "Noun[pb.RewriteJob]" = Noun(
    "rewrites",
    {
        "rewrite": "id",
        "dataset": "dataset_name",
        "state": lambda job: _state(job),
        "format": lambda job: job.format_version or NONE,
        "done": lambda job: f"{_percent(job)} %",
        "segments": lambda job: f"{job.segments_done}/{job.segments_total}",
        "size": lambda job: size_text(job.bytes_total),
        "open": "open_tasks",
        "left": lambda job: _left(job),
        "moves to": lambda job: (job.store or "default") if job.HasField("store") else NONE,
    },
)
app = rewrites.app


@rewrites.lists
def list_(client: MetaClient, dataset: OnlyDataset = None) -> "Iterable[pb.RewriteJob]":
    """List rewrites with their progress, unfinished ones first; finished ones for 30 days."""
    id_ = None if dataset is None else dataset_id(client, dataset)
    request = pb.ListRewriteJobsRequest(dataset_id=id_, limit=1_000)
    return client.operations.ListRewriteJobs(request).rewrites


@rewrites.command("show", "{} --follow")
def show(client: MetaClient, rewrite_id: RewriteId, follow: Follow = False) -> Answer:
    """Show a rewrite; with --follow, once it has ended or is paused."""
    rewrite = _get(client, rewrite_id)
    return rewrites.listing_of(_followed(client, rewrite) if follow else rewrite)


@rewrites.command("update", "{} --state paused")
def update(
    client: MetaClient,
    rewrite_id: RewriteId,
    state: Literal["running", "paused", "cancelled"] | None = None,
    tasks_max: TasksMax = None,
    mib_per_sec: MiBPerSec = None,
) -> Answer:
    """Pause, continue or cancel a rewrite, or change how much it does at a time.

    Options:
        state: paused creates no further tasks until running; cancelled is permanent, its outputs
            stay, and workers finish their tasks.
    """
    request = pb.UpdateRewriteJobRequest(
        id=rewrite_id,
        state=None
        if state is None
        else pb.RewriteJobState.Value(f"REWRITE_JOB_STATE_{state.upper()}"),
        tasks_max=tasks_max,
        bytes_per_sec=None if mib_per_sec is None else int(mib_per_sec * MIB),
    )
    rewrite = client.operations.UpdateRewriteJob(request).rewrite
    is_refused = state is not None and _state(rewrite) != state
    if is_refused:
        complain(f"the rewrite is {_state(rewrite)} already")
    return rewrites.listing_of(rewrite, EXIT_REFUSED if is_refused else 0)


def created(client: MetaClient, request: "pb.CreateRewriteJobRequest", *, follow: bool) -> Answer:
    """Begin a rewrite, and wait for its end if it is followed."""
    rewrite = client.operations.CreateRewriteJob(request).rewrite
    return rewrites.listing_of(_followed(client, rewrite) if follow else rewrite)


def _followed(client: MetaClient, rewrite: "pb.RewriteJob") -> "pb.RewriteJob":
    """Print progress to standard error until a rewrite has ended or is paused."""
    while _state(rewrite) == "running":
        print(_progress(rewrite), file=sys.stderr)
        time.sleep(_FOLLOW_SECS)
        rewrite = _get(client, rewrite.id)
    print(_progress(rewrite), file=sys.stderr)
    return rewrite


def _get(client: MetaClient, rewrite_id: str) -> "pb.RewriteJob":
    """Read a rewrite: a change of nothing returns it."""
    request = pb.UpdateRewriteJobRequest(id=rewrite_id)
    return client.operations.UpdateRewriteJob(request).rewrite


def _progress(rewrite: "pb.RewriteJob") -> str:
    return (
        f"{_state(rewrite)}: {rewrite.segments_done} of {rewrite.segments_total} segments,"
        f" {_percent(rewrite)} % of {size_text(rewrite.bytes_total)}, left: {_left(rewrite)}"
    )


def _percent(rewrite: "pb.RewriteJob") -> int:
    """Share of the bytes; merges may have taken the rest of a finished rewrite."""
    is_done = _state(rewrite) == "done"
    if is_done or not rewrite.bytes_total:
        return 100 if is_done else 0
    return min(99, 100 * rewrite.bytes_done // rewrite.bytes_total)


def _left(rewrite: "pb.RewriteJob") -> str:
    return f"{rewrite.secs_left} s" if rewrite.HasField("secs_left") else NONE


def _state(rewrite: "pb.RewriteJob") -> str:

    return pb.RewriteJobState.Name(rewrite.state).removeprefix("REWRITE_JOB_STATE_").lower()
