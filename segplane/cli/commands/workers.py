"""segplane workers: when each worker was last seen, and settings of workers and classes."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.output import NONE, AsJson, print_facts, print_json, print_table, time_text

app = typer.Typer(
    no_args_is_help=True,
    help="List workers, and give settings to a worker or to a class of workers. A worker's id has "
    "its kind, a slash and its name, such as nursery/host-4-1c2d or merge_worker/big-1 "
    "(MERGE_WORKER_WORKER_ID is the name). A class is the beginning of ids and an asterisk: "
    "nursery/* or merge_worker/big-*. Workers take changes up within 30 seconds.",
)
Name = Annotated[
    str,
    typer.Argument(
        help="Id of a worker, or a class such as 'merge_worker/*' (quote the asterisk)."
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        help="Merge worker: take the tasks of this dataset alone; may be repeated. "
        "Datasets that no worker takes are not merged."
    ),
]
_SETTINGS = tuple(field.name for field in common_pb2.WorkerSettings.DESCRIPTOR.fields)
_PAGE = 1_000


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the workers that asked meta for their configuration in the last 30 days."""
    with connect(address) as client:
        if as_json:
            print_json(_workers(client))
            return
        rows = [
            (worker.id, time_text(worker.first_seen_nanos), time_text(worker.last_seen_nanos))
            for worker in _workers(client)
        ]
    print_table(("worker", "first seen", "last seen"), rows)


@app.command()
def show(
    name: Annotated[
        str | None, typer.Argument(help="Id of a worker; default: all names with settings.")
    ] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show settings: of all names, or for one worker with the name that sets each value."""
    with connect(address) as client:
        request = pb.ListWorkerSettingsRequest(worker_id=name or "")
        reply = client.operations.ListWorkerSettings(request)
    if as_json:
        print_json(reply)
    elif name is None:
        rows = [
            (named.name, setting, _text(named.settings, setting), time_text(named.updated_at_nanos))
            for named in reply.named
            for setting in _given(named.settings)
        ]
        print_table(("name", "setting", "value", "changed"), rows)
    else:
        sources = {s: named.name for named in reply.named for s in _given(named.settings)}
        effective = [
            (setting, _text(reply.in_force, setting), sources.get(setting, "its environment"))
            for setting in _SETTINGS
        ]
        print_table(("setting", "value", "from"), effective)


@app.command("set")
def set_(
    name: Name,
    batch_bytes_max: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Nursery: baby segments merged in a cycle."),
    ] = None,
    batch_babies_max: Annotated[
        int | None, typer.Option(help="Nursery: number of baby segments merged in a cycle.")
    ] = None,
    decode_bytes_max: Annotated[
        int | None, typer.Option(metavar="BYTES", help="Nursery: OTLP that a task decodes at once.")
    ] = None,
    task_bytes_max: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Nursery: columns that a task holds before it writes."),
    ] = None,
    concurrent_tasks: Annotated[
        int | None,
        typer.Option(help="Merge worker: tasks at once, of as many as it has threads."),
    ] = None,
    buffer_bytes_max: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES", help="Merge worker: rows that a task buffers, from 1048576 on."
        ),
    ] = None,
    dataset: Datasets = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Set values for a worker or class; others stay. `workers unset` takes them back."""
    settings = common_pb2.WorkerSettings(
        batch_bytes_max=batch_bytes_max,
        batch_babies_max=batch_babies_max,
        decode_bytes_max=decode_bytes_max,
        task_bytes_max=task_bytes_max,
        concurrent_tasks=concurrent_tasks,
        buffer_bytes_max=buffer_bytes_max,
    )
    with connect(address) as client:
        if dataset:
            settings.datasets.ids.extend(
                _dataset_id(client, dataset_name) for dataset_name in dataset
            )
        if not settings.ListFields():
            raise usage("name at least one setting, such as --concurrent-tasks 2")
        _change(client, pb.SetWorkerSettingsRequest(name=name, settings=settings), as_json)


@app.command()
def unset(
    name: Name,
    setting: Annotated[
        list[str] | None,
        typer.Argument(help=f"Settings to remove, of {', '.join(_SETTINGS)}; default: all."),
    ] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Remove settings of a worker or class; it uses those of its environment again."""
    with connect(address) as client:
        removed = [field.replace("-", "_") for field in setting or _SETTINGS]
        _change(client, pb.SetWorkerSettingsRequest(name=name, removed=removed), as_json)


def _dataset_id(client: MetaClient, name: str) -> str:
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id


def _change(client: MetaClient, request: pb.SetWorkerSettingsRequest, as_json: bool) -> None:
    settings = client.operations.SetWorkerSettings(request).settings
    if as_json:
        print_json(settings)
    elif given := _given(settings):
        print_facts([(setting, _text(settings, setting)) for setting in given])
    else:
        print(f"{request.name} has no settings")


def _workers(client: MetaClient) -> Iterator[pb.Worker]:
    request = pb.ListWorkersRequest(limit=_PAGE)
    while True:
        workers = client.operations.ListWorkers(request).workers
        yield from workers
        if len(workers) < _PAGE:
            return
        request.after_id = workers[-1].id


def _given(settings: common_pb2.WorkerSettings) -> list[str]:
    return [field.name for field, _ in settings.ListFields()]


def _text(settings: common_pb2.WorkerSettings, setting: str) -> str:
    value: Any = getattr(settings, setting)
    if not settings.HasField(setting):  # type: ignore[arg-type]
        return NONE
    return ",".join(value.ids) if setting == "datasets" else str(value)
