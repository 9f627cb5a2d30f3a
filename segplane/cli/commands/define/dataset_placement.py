"""segplane datasets placement: the store of a dataset's segments."""

from typing import Annotated
from uuid import uuid4

from segplane.cli.commands.operate import rewrites
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.options import Dataset, dataset_id
from segplane.cli.output import Answer, listing
from segplane.cli.parameters import Positional

DEFAULT_STORE = "default"


def placement(
    client: MetaClient,
    name: Dataset,
    store: Annotated[
        str | None,
        Positional(help=f"Name of a store, as META_OBJECT_STORES has it, or {DEFAULT_STORE}."),
    ] = None,
    tasks_max: rewrites.TasksMax = None,
    mib_per_sec: rewrites.MiBPerSec = None,
    follow: rewrites.Follow = False,
) -> Answer:
    """Show the store of new segments; with STORE, move the dataset there while it is in use.

    New segments go there at once, existing ones by a rewrite, which `segplane rewrites` lists,
    pauses and bounds. Run again, it moves the remaining segments.
    """
    if store is None:
        return _stores(client, dataset_id(client, name))
    request = pb.CreateRewriteJobRequest(
        id=str(uuid4()),
        dataset_id=dataset_id(client, name),
        store="" if store == DEFAULT_STORE else store,
        tasks_max=tasks_max or 0,
        bytes_per_sec=int((mib_per_sec or 0) * rewrites.MIB),
    )
    return rewrites.created(client, request, follow=follow)


def _stores(client: MetaClient, id_: str) -> Answer:
    from dataplane.location import ask_location
    from segplane.read.lookup import settings_at

    used = settings_at(client, id_, None).store
    stores = ask_location(client, "cli").stores
    rows = [
        {"name": name or DEFAULT_STORE, "url": stores.get(name).url(), "is_used": name == used}
        for name in stores.names()
    ]
    return listing(
        rows,
        {
            "store": lambda row: row["name"],
            "location": lambda row: row["url"],
            "new segments": lambda row: "here" if row["is_used"] else "-",
        },
    )
