"""segplane workers: when each worker was last seen, and settings of workers and classes."""

from dataclasses import replace
from functools import wraps
from typing import Annotated, Any

from segplane.cli.command import command, group, with_subcommands
from segplane.cli.commands.operate.status import status
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient, common_pb2
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.nouns import Noun, pages
from segplane.cli.options import dataset_id
from segplane.cli.output import NONE, Answer, facts, table, time_text
from segplane.cli.parameters import Option, Positional

ALL = "all"
Unset = Annotated[
    list[str] | None,
    Option(
        metavar="SETTING",
        help="Remove a setting, such as concurrent_tasks, so that the worker uses that of its"
        f" environment again; {ALL} removes each one. May be repeated.",
    ),
]
HINT = "hint: `segplane status` shows each process, and whether anything needs a person"
ABOUT = (
    "Do the same as `segplane status`, list workers, or give settings to a worker or to a class of "
    "workers. A worker's id has its kind, a slash and its name, such as nursery/host-4-1c2d or "
    "merge_worker/big-1 (MERGE_WORKER_WORKER_ID is the name), collector/edge-7 (COLLECTOR_ID). A "
    "class is the beginning of ids and an asterisk: nursery/* or collector/edge-*. Workers take "
    "changes up within 30 seconds."
)

workers: "Noun[pb.Worker]" = Noun(
    "workers",
    {
        "worker": "id",
        "first seen": lambda worker: time_text(worker.first_seen_nanos),
        "last seen": lambda worker: time_text(worker.last_seen_nanos),
    },
    sample="'merge_worker/*'",
)
app = group()


@command(app, "workers", "workers")
@wraps(status)
def workers_(**values: Any) -> Answer:
    """Do the same as `segplane status`, with a hint."""
    return replace(status(**values), notes=(HINT,))


@workers.command("list")
def list_(client: MetaClient) -> Answer:
    """List the workers that asked meta for their configuration in the last 30 days."""
    listed = pages(client.operations.ListWorkers, pb.ListWorkersRequest(), cursor="after_id")
    return replace(workers.listing(listed), notes=(HINT,))


@workers.command("settings", "{} --concurrent-tasks 2")
def settings(
    client: MetaClient,
    name: Annotated[str | None, Positional()] = None,
    batch_bytes_max: Annotated[int | None, Option(metavar="BYTES")] = None,
    batch_babies_max: int | None = None,
    decode_bytes_max: Annotated[int | None, Option(metavar="BYTES")] = None,
    task_bytes_max: Annotated[int | None, Option(metavar="BYTES")] = None,
    concurrent_tasks: int | None = None,
    buffer_bytes_max: Annotated[int | None, Option(metavar="BYTES")] = None,
    flush_timeout_ms: int | None = None,
    dataset: list[str] | None = None,
    unset: Unset = None,
) -> Answer:
    """Show the settings of all names, or of a worker with the name that sets each value.

    With options, set values for a worker or class, and remove others; the rest stays.

    Options:
        name: Id of a worker, or a class such as 'merge_worker/*' (quote the asterisk).
        batch_bytes_max: Nursery: baby segments merged in a cycle.
        batch_babies_max: Nursery: number of baby segments merged in a cycle.
        decode_bytes_max: Nursery: OTLP that a task decodes at once.
        task_bytes_max: Nursery: columns that a task holds before it writes.
        concurrent_tasks: Merge worker: tasks at once, of as many as it has threads.
        buffer_bytes_max: Merge worker: rows that a task buffers, from 1048576 on.
        flush_timeout_ms: Collector: longest time that exports wait for a flush, 10 to 600000.
        dataset: Merge worker: take only the tasks of this dataset; may be repeated. Datasets that
            no worker takes are not merged.
    """
    given = common_pb2.WorkerSettings(
        batch_bytes_max=batch_bytes_max,
        batch_babies_max=batch_babies_max,
        decode_bytes_max=decode_bytes_max,
        task_bytes_max=task_bytes_max,
        concurrent_tasks=concurrent_tasks,
        buffer_bytes_max=buffer_bytes_max,
        flush_timeout_ms=flush_timeout_ms,
    )
    if dataset:
        given.datasets.ids.extend(dataset_id(client, each) for each in dataset)
    removed = _settings() if unset == [ALL] else [field.replace("-", "_") for field in unset or ()]
    if not given.ListFields() and not removed:
        return _shown(client, name)
    if name is None:
        raise usage("name a worker or a class, such as 'merge_worker/*'")
    return _changed(client, pb.SetWorkerSettingsRequest(name=name, settings=given, removed=removed))


_alias = with_subcommands(app, "workers")
_alias.help = ABOUT
for _command in workers.app.commands.values():
    _alias.add_command(_command)


def _changed(client: MetaClient, request: "pb.SetWorkerSettingsRequest") -> Answer:
    now = client.operations.SetWorkerSettings(request).settings
    text = facts((setting, _text(now, setting)) for setting in _given(now))
    return Answer(now, text if _given(now) else [f"{request.name} has no settings"])


def _shown(client: MetaClient, name: str | None) -> Answer:
    if name and name.endswith("*"):
        raise usage("name at least one setting, such as --concurrent-tasks 2")
    reply = client.operations.ListWorkerSettings(pb.ListWorkerSettingsRequest(worker_id=name or ""))
    if name is None:
        rows = [
            (row.name, setting, _text(row.settings, setting), time_text(row.updated_at_nanos))
            for row in reply.named
            for setting in _given(row.settings)
        ]
        return Answer(reply, table(("name", "setting", "value", "changed"), rows))
    sources = {setting: row.name for row in reply.named for setting in _given(row.settings)}
    effective = [
        (setting, _text(reply.in_force, setting), sources.get(setting, "its environment"))
        for setting in _settings()
    ]
    return Answer(reply, table(("setting", "value", "from"), effective))


def _settings() -> list[str]:

    return [field.name for field in common_pb2.WorkerSettings.DESCRIPTOR.fields]


def _given(settings: "common_pb2.WorkerSettings") -> list[str]:
    return [field.name for field, _ in settings.ListFields()]


def _text(settings: "common_pb2.WorkerSettings", setting: str) -> str:
    value: Any = getattr(settings, setting)
    if not settings.HasField(setting):  # type: ignore[arg-type]
        return NONE
    return ",".join(value.ids) if setting == "datasets" else str(value)
