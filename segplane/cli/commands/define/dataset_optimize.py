"""segplane datasets optimize: the merges that are possible now, then a vacuum."""

import sys
import time
from typing import Annotated

from segplane.cli.commands.operate.vacuum import carried_out
from segplane.cli.connection import refusal
from segplane.cli.messages import MetaClient, operations_pb2
from segplane.cli.messages import janitor_pb2 as pb
from segplane.cli.options import Dataset, dataset_id
from segplane.cli.output import Answer
from segplane.cli.parameters import Option
from segplane.cli.settings_of_datasets import seconds

_FOLLOW_SECS = 1.0
# A worker polls for tasks every few seconds.
_IDLE_SECS = 120.0
_BAR_CHARACTERS = 30
_AGE_SECS_MIN = 3_600


def optimize(
    client: MetaClient,
    name: Dataset,
    older_than: Annotated[str | None, Option(metavar="AGE")] = None,
) -> Answer:
    """Merge what can be merged now, then vacuum; the vacuum cannot be undone.

    Options:
        older_than: Age of versions to expire, at least 1h; the dataset's grace if it is not given.
    """
    age = seconds(older_than)
    merges = _merged(client, name)
    done = carried_out(client, name, _grace_secs(client, name) if age is None else age)
    return Answer({"merges": merges, "vacuum": done.data}, [f"merges         {merges}", *done.text])


def _merged(client: MetaClient, name: str) -> int:
    """Plan merges until there are no more, and wait for them; return their number."""
    total = _open_tasks(client, name)
    while True:
        request = pb.CreateMergeTasksRequest(dataset_name=name)
        created = client.janitor.CreateMergeTasks(request).tasks_created
        total += created
        if not _follow(client, name, total) and not created:
            return total


def _follow(client: MetaClient, name: str, total: int) -> bool:
    """Show a bar until no task is open; false if none was. Raises a refusal if none is claimed."""
    open_tasks = last = _open_tasks(client, name)
    is_any, moved_at = open_tasks > 0, time.monotonic()
    while open_tasks:
        _show(total - open_tasks, total)
        if open_tasks != last or _is_claimed(client, name):
            last, moved_at = open_tasks, time.monotonic()
        elif time.monotonic() - moved_at > _IDLE_SECS:
            raise refusal(f"no merge worker takes the {open_tasks} open tasks: they stay planned")
        time.sleep(_FOLLOW_SECS)
        open_tasks = _open_tasks(client, name)
    if is_any:
        _show(total, total)
    return is_any


def _open_tasks(client: MetaClient, name: str) -> int:
    request = pb.GetJanitorStatsRequest(dataset_name=name)
    return client.janitor.GetJanitorStats(request).outstanding_merge_tasks


def _is_claimed(client: MetaClient, name: str) -> bool:
    tasks = client.janitor.ListMergeTasks(pb.ListMergeTasksRequest(dataset_name=name)).tasks
    return any(task.assigned_to_worker for task in tasks)


def _show(done: int, total: int) -> None:
    """Print a bar: over itself on a terminal, else line by line."""
    filled = _BAR_CHARACTERS * done // max(1, total)
    bar = "#" * filled + "." * (_BAR_CHARACTERS - filled)
    is_terminal = sys.stderr.isatty()
    begin, end = ("\r", "\n" if done == total else "") if is_terminal else ("", "\n")
    print(f"{begin}[{bar}] {done} of {total} merges", end=end, file=sys.stderr, flush=True)


def _grace_secs(client: MetaClient, name: str) -> int:
    """The dataset's grace, or the server's."""
    request = operations_pb2.GetDatasetSettingsRequest(dataset_id=dataset_id(client, name))
    grace_secs = client.operations.GetDatasetSettings(request).settings.tombstone_grace.seconds
    state = client.operations.GetServerState(operations_pb2.GetServerStateRequest())
    return max(grace_secs or state.tombstone_grace.seconds, _AGE_SECS_MIN)
