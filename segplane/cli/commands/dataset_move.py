"""segplane datasets move: the store of a dataset's segments."""

import json
from typing import Annotated
from uuid import uuid4

import typer

from dataplane.location import ask_location
from meta.client import MetaClient
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segments.location import DEFAULT_STORE
from segplane.cli.commands import rewrites
from segplane.cli.commands.dataset_settings import Name
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.cli.output import AsJson, print_table


def move(
    name: Name,
    store: Annotated[
        str | None,
        typer.Argument(help=f"Name of a store, as META_OBJECT_STORES has it, or {DEFAULT_STORE}."),
    ] = None,
    tasks_max: rewrites.TasksMax = None,
    mib_per_sec: rewrites.MiBPerSec = None,
    follow: Annotated[
        bool, typer.Option(help="Print progress until the current segments are moved.")
    ] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Move a dataset's segments to another store, while it is written and read.

    New segments go there at once, existing ones by a rewrite, which `segplane rewrites` lists,
    pauses and bounds. Run again, it moves the remaining segments. Without STORE it shows the store
    of new segments, and the available stores.
    """
    with connect(address) as client:
        dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
        if store is None:
            _show(client, dataset.id, as_json)
            return
        request = pb.CreateRewriteJobRequest(
            id=str(uuid4()),
            dataset_id=dataset.id,
            store="" if store == DEFAULT_STORE else store,
            tasks_max=tasks_max or 0,
            bytes_per_sec=int((mib_per_sec or 0) * rewrites.MIB),
        )
        job = client.operations.CreateRewriteJob(request).rewrite
        rewrites.show(rewrites.follow(client, job) if follow else job, as_json)


def _show(client: MetaClient, dataset_id: str, as_json: bool) -> None:
    request = pb.GetDatasetSettingsRequest(dataset_id=dataset_id)
    used = client.operations.GetDatasetSettings(request).settings.store
    stores = ask_location(client, "cli").stores
    rows = [(n or DEFAULT_STORE, stores.get(n).url(), n == used) for n in stores.names()]
    if as_json:
        keys = ("name", "url", "is_used")
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
    else:
        print_table(
            ("store", "location", "new segments"),
            [(n, url, "here" if is_used else "") for n, url, is_used in rows],
        )
