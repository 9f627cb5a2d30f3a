"""segplane vacuum: versions older than an age expire, and what only they show is deleted."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated
from uuid import uuid4

from segplane.cli.command import command, group
from segplane.cli.connection import refusal
from segplane.cli.messages import MetaClient
from segplane.cli.messages import resources_pb2 as pb
from segplane.cli.output import Answer, listing, message_dict, size_text
from segplane.cli.parameters import Option, Positional
from segplane.cli.settings_of_datasets import seconds

app = group()
# Reasons for which segments stay.
_LEFT = {
    "pinned": "pins hold them (`segplane pins list`)",
    "braked": "the deletion brake holds them (`segplane deletion`)",
    "hidden": "an operator has hidden them",
    "backup": "backups keep them (`segplane backup list`)",
    "locked": "a lock of the dataset holds them (`segplane datasets show`)",
}
_FOLLOW_SECS = 1.0
# A janitor that runs asks for its configuration every minute at least.
_JANITOR_SECS = 150
# It looks for vacuums every few seconds.
_TAKEN_SECS = 60.0


@command(app, "vacuum checkout --older-than 1d")
def vacuum(
    client: MetaClient,
    dataset: Annotated[
        str | None, Positional(metavar="[DATASET]", help="Only this dataset.")
    ] = None,
    *,
    older_than: Annotated[str, Option(metavar="AGE")],
    dry_run: bool = False,
) -> Answer:
    """Expire versions older than an age and delete what only they show; cannot be undone.

    Segments, table metadata and orphans are deleted by the janitor, below the grace of a dataset
    too; the command waits for it. Pinned, braked, hidden and locked segments stay and are named,
    and those that a backup keeps.

    Options:
        older_than: Age such as 7d, at least 1h. Readers of older versions are refused at once.
        dry_run: Print the plan; change nothing.
    """
    age = seconds(older_than) or 0
    plan = _planned(client, dataset, age)
    if dry_run:
        return plan_answer(plan)
    return carried_out(client, dataset, age)


def carried_out(client: MetaClient, dataset: str | None, age_secs: int) -> Answer:
    """Vacuum a dataset, or all, and wait until a janitor has deleted what it may.

    Raises a refusal without a janitor.
    """
    first = _call(client, dataset, age_secs)
    if not 0 <= first.janitor_seen_secs < _JANITOR_SECS:
        raise refusal(f"no janitor runs, which deletes objects: nothing was changed{_last(first)}")
    vacuum_id = str(uuid4())
    planned = list(_pages(client, dataset, age_secs, vacuum_id))
    done = _followed(client, vacuum_id, sum(item.segments for item in planned))
    unfinished = [item for item in _planned(client, dataset, age_secs) if _is_left(item)]
    data = message_dict(done) | {"left": [message_dict(item) for item in unfinished]}
    # Others may have become old enough meanwhile.
    return Answer(data, [*_totals(done), *_left_lines(unfinished)])


def plan_answer(plan: "Sequence[pb.DatasetVacuum]") -> Answer:
    """Answer with what a vacuum would delete of each dataset, and what it would leave."""
    shown = [item for item in plan if item.segments or item.table_objects or _is_left(item)]
    answer = listing(
        shown,
        {
            "dataset": "dataset_name",
            "expired below": "horizon",
            "segments": "segments",
            "size": lambda item: size_text(item.segment_bytes),
            "table objects": "table_objects",
            "their size": lambda item: size_text(item.table_bytes),
        },
    )
    size = sum(item.segment_bytes + item.table_bytes for item in plan)
    total = f"{size} bytes would be deleted, beside orphans, which the janitor finds"
    return Answer(plan, [*answer.text, *_left_lines(shown), total])


def _planned(client: MetaClient, dataset: str | None, age_secs: int) -> "list[pb.DatasetVacuum]":
    return list(_pages(client, dataset, age_secs))


def _pages(
    client: MetaClient, dataset: str | None, age_secs: int, vacuum_id: str = ""
) -> "Iterator[pb.DatasetVacuum]":
    """Plan, or with an id begin, a vacuum page by page."""
    after = ""
    while True:
        reply = _call(client, dataset, age_secs, vacuum_id, after)
        yield from reply.datasets
        after = reply.next_after_dataset_id
        if not after:
            return


def _call(
    client: MetaClient, dataset: str | None, age_secs: int, vacuum_id: str = "", after: str = ""
) -> "pb.VacuumDatasetsResponse":
    request = pb.VacuumDatasetsRequest(
        vacuum_id=vacuum_id,
        dataset_name=dataset,
        older_than_secs=age_secs,
        dry_run=not vacuum_id,
        after_dataset_id=after,
    )
    return client.resources.VacuumDatasets(request)


def _followed(client: MetaClient, vacuum_id: str, num_segments: int) -> "pb.Vacuum":
    """Print progress to standard error until a janitor is done. Raises a refusal if none is."""
    began, shown = time.monotonic(), ""
    while True:
        reply = client.resources.GetVacuum(pb.GetVacuumRequest(vacuum_id=vacuum_id))
        vacuum = reply.vacuum
        if vacuum.finished_at_nanos:
            return vacuum
        waited = time.monotonic() - began
        if reason := _standstill(reply, waited):
            raise refusal(f"{reason}; the vacuum continues after that")
        size = size_text(vacuum.segment_bytes)
        line = f"{vacuum.segments} of {num_segments} segments deleted ({size})"
        if line != shown:
            print(line, file=sys.stderr)
            shown = line
        time.sleep(_FOLLOW_SECS)


def _standstill(reply: "pb.GetVacuumResponse", waited_secs: float) -> str:
    """The reason why nothing more will be deleted, "" if there is none."""
    if reply.deletion_held:
        return "deletion is held"
    if not 0 <= reply.janitor_seen_secs < _JANITOR_SECS:
        return f"no janitor runs{_last(reply)}"
    is_taken = reply.vacuum.taken_at_nanos or reply.janitor_busy
    if not is_taken and waited_secs > _TAKEN_SECS:
        return (
            f"no janitor has taken it in {_TAKEN_SECS:.0f} s: it is of an earlier release, or dead"
        )
    return ""


def _last(reply: "pb.GetVacuumResponse | pb.VacuumDatasetsResponse") -> str:
    seen = reply.janitor_seen_secs
    return "" if seen < 0 else f" (one asked meta {seen} s ago)"


def _totals(vacuum: "pb.Vacuum") -> Iterator[str]:
    total = vacuum.segment_bytes + vacuum.table_bytes + vacuum.orphan_bytes
    yield f"segments       {vacuum.segments}, {vacuum.segment_bytes} bytes"
    yield f"table objects  {vacuum.table_objects}, {vacuum.table_bytes} bytes"
    yield f"orphans        {vacuum.orphans}, {vacuum.orphan_bytes} bytes"
    yield f"deleted        {total} bytes"
    if vacuum.orphans_left:
        yield f"orphans left   {vacuum.orphans_left}, above the bound of one sweep"


def _is_left(item: "pb.DatasetVacuum") -> bool:
    return any(getattr(item, f"{kind}_segments") for kind in _LEFT)


def _left_lines(items: "Iterable[pb.DatasetVacuum]") -> Iterator[str]:
    for item in items:
        for kind, reason in _LEFT.items():
            if segments := getattr(item, f"{kind}_segments"):
                size = getattr(item, f"{kind}_bytes")
                yield f"left of {item.dataset_name}: {segments} segments, {size} bytes: {reason}"
