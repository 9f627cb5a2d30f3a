"""segplane freshness: whether data is late, and where it waits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.messages import MetaClient
from segplane.cli.output import NONE, Answer, message_dict, size_text, table
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from segplane.health.freshness import Freshness, JudgedDataset

app = group()
# Datasets with --all; without it meta lists as many as it does by default.
ALL_MAX = 1_000


@command(app, "freshness")
def freshness(
    client: MetaClient,
    dataset: Annotated[str | None, Positional(metavar="DATASET")] = None,
    every: Annotated[
        bool, Option("--all", help="Show 1,000 datasets, also those of which nothing waits.")
    ] = False,
) -> Answer:
    """Show how long acknowledged records have waited to be visible to readers, oldest first.

    The first line says whether data is late, and the exit code is 1 if something has waited for 5
    minutes. The stage is that of the oldest flush: gathering for some seconds, waiting to be
    merged, no nursery, parked at an object that cannot be read (`segplane streams show`), or
    awaits reconcile after a restore. p50 and p99 are the times to visibility of the last hour, of
    the 100 datasets with most bytes.

    Options:
        dataset: Only the one with this name or id, whose waiting flushes are counted further.
    """
    from segplane.health.freshness import read_freshness

    limit = ALL_MAX if every else 0
    read = read_freshness(client, dataset, limit, include_fresh=every)
    return Answer(_data(read), _lines(read), _notes(read), exit_code=int(bool(read.needs)))


def _data(read: "Freshness") -> dict[str, object]:
    datasets = [
        {
            **message_dict(judged.dataset),
            "stage": judged.stage,
            "age_nanos": str(judged.age_nanos),
            "late": judged.is_late,
        }
        for judged in read.datasets
    ]
    reply = message_dict(read.reply)
    needs = list(read.needs)
    return {"ok": not needs, "needs": needs, **reply, "datasets": datasets}


def _lines(read: "Freshness") -> Iterator[str]:
    yield read.headline
    if read.datasets:
        yield ""
        headers = (
            *("dataset", "age", "stage", "waiting", "bytes", "stream", "collector"),
            *("newest segment", "p50", "p99"),
        )
        now = read.reply.database_time_nanos
        yield from table(headers, (_row(judged, now) for judged in read.datasets))


def _notes(read: "Freshness") -> list[str]:
    reply, notes = read.reply, []
    shown = sum(bool(judged.age_nanos) for judged in read.datasets)
    if further := reply.waiting_datasets - shown:
        notes.append(f"not shown, because they wait for less long: {further} datasets")
    if fresh := reply.live_datasets - reply.waiting_datasets - (len(read.datasets) - shown):
        notes.append(f"not shown, because nothing waits: {fresh} of {reply.live_datasets} datasets")
    if reply.streams_cut:
        notes.append(
            f"streams of which only the oldest flushes were looked at: {reply.streams_cut};"
            " numbers with + are at least so large"
        )
    return notes


def _row(judged: "JudgedDataset", now_nanos: int) -> tuple[str, ...]:
    from segplane.health.processes import span, tenths

    dataset = judged.dataset
    newest = NONE
    if dataset.registered_at_nanos:
        newest = f"{span(now_nanos - dataset.registered_at_nanos)} ago"
    times = (dataset.p50_nanos, dataset.p99_nanos)
    percentiles = [tenths(nanos) if dataset.flushes else NONE for nanos in times]
    if judged.stage is None:
        return (dataset.dataset_name, *[NONE] * 6, newest, *percentiles)
    more = "+" if dataset.is_at_least else ""
    return (
        dataset.dataset_name,
        span(judged.age_nanos),
        judged.stage.text,
        f"{dataset.babies}{more}",
        f"{size_text(dataset.size_bytes)}{more}",
        dataset.stream_id,
        dataset.collector_id,
        newest,
        *percentiles,
    )
