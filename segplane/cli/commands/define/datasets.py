"""segplane datasets: named sets of telemetry records."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated
from uuid import uuid4

from segplane.cli.commands.define.dataset_columns import columns
from segplane.cli.commands.define.dataset_deduplication import deduplication
from segplane.cli.commands.define.dataset_figures import show, usage
from segplane.cli.commands.define.dataset_moves import move
from segplane.cli.commands.define.dataset_optimize import optimize
from segplane.cli.commands.define.dataset_settings import limits, retention, settings
from segplane.cli.commands.operate import rewrites
from segplane.cli.commands.read.reading import preview
from segplane.cli.connection import refusal
from segplane.cli.connection import usage as usage_error
from segplane.cli.entry_changes import refused_with_differences
from segplane.cli.messages import (
    MetaClient,
    catalog_pb2,
    common_pb2,
    operations_pb2,
)
from segplane.cli.nouns import Noun
from segplane.cli.options import DEFAULT_STORE, Dataset, dataset_id, given_dataset_id
from segplane.cli.output import (
    Answer,
    Columns,
    listing,
    message_dict,
)
from segplane.cli.parameters import Positional

_COLUMNS: "Columns[catalog_pb2.Dataset]" = {"id": "id", "name": "name"}
datasets: "Noun[catalog_pb2.Dataset]" = Noun("datasets", _COLUMNS, sample="checkout")
app = datasets.app
datasets.command("retention", "{} --event-retention 30d")(retention)
datasets.command("limits", "{} --records-per-month 1000000")(limits)
datasets.command("columns", "{} --promote status:int:record:http.status_code")(columns)
datasets.command("deduplication", "{} --deduplicate-by order_id --deduplicate-days 7")(
    deduplication
)
datasets.command("usage", "{}")(usage)
datasets.command("show", "{}")(show)
datasets.command("optimize", "{} --older-than 7d")(optimize)
datasets.command("move", "{} payments --yes")(move)
datasets.command("preview", "{} --signal logs")(preview)
datasets.command("settings", "{}", hidden=True)(settings)


def _hints(client: MetaClient, names: Iterable[str]) -> dict[str, str]:
    """Return hints for the names that no new dataset could have."""
    from segments import dataset_names
    from segplane.read import groups

    hints, groups_by_name = {}, dict[str, bool]()
    for name in names:
        group = dataset_names.parse(name).group
        if group is not None and group not in groups_by_name:
            groups_by_name[group] = groups.exists(client, group)
        # Otherwise the slash is in the dataset's own name, from an earlier release.
        is_grouped = group is not None and groups_by_name[group]
        own_name = dataset_names.parse(name).base_name if is_grouped else name
        if reason := dataset_names.reserved(own_name):
            hints[name] = f"rename it: {reason}"
    return hints


@datasets.command("create", "{}")
def create(client: MetaClient, name: Dataset) -> Answer:
    """Create a dataset; the same name again is fine."""
    reply = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
    return Answer(reply, [reply.id])


@datasets.command("rename", "{} shop")
def rename(client: MetaClient, name: Dataset, new_name: str) -> Answer:
    """Rename a dataset; segments, tokens and views stay, and older versions keep the old name.

    Options:
        new_name: The new name; group/name moves it to a group, a name alone to the default one.
    """
    request = operations_pb2.RenameDatasetRequest(
        dataset_id=dataset_id(client, name), new_name=new_name
    )
    reply = client.operations.RenameDataset(request)
    return Answer(reply, [reply.name])


@datasets.command("list")
def list_(client: MetaClient, all_tenants: bool = False) -> Answer:
    """List the datasets, oldest first.

    Options:
        all_tenants: List those of all tenants, as //tenant/group/name. For operators.
    """
    from segplane.read.lookup import all_datasets

    listed = all_datasets(client, all_tenants=all_tenants)
    # Hints look at the groups of one tenant.
    hints = _hints(client, [d.name for d in listed if not d.name.startswith("//")])
    data = [
        message_dict(dataset) | ({"hint": hints[dataset.name]} if dataset.name in hints else {})
        for dataset in listed
    ]
    columns = {**_COLUMNS, "hint": lambda dataset: hints.get(dataset.name, "")}
    return Answer(data, listing(listed, columns).text)


@datasets.command("delete", "{}")
def delete(
    client: MetaClient, name: Dataset, keep_files: bool = False, undo: bool = False
) -> Answer:
    """Delete a dataset; for 7 days `datasets delete --undo ID` brings it back.

    After that its segments leave the catalog and their objects are deleted, or stay where they are
    with --keep-files, listed by `fsck`.

    Options:
        keep_files: Leave the objects of its segments in the bucket permanently.
        undo: Bring a deleted dataset back while its grace lasts, by the id that `delete` printed.
    """
    if undo:
        return _undelete(client, name)
    from segments.keys import merged_prefix

    id_ = dataset_id(client, name)
    request = catalog_pb2.DeleteDatasetRequest(id=id_, keep_files=keep_files)
    reply = client.catalog.DeleteDataset(request)
    kept = f", its files stay below {merged_prefix(id_)}" if reply.keeps_files else ""
    text = f"deleted{kept}; bring it back with: segplane datasets delete --undo {id_}"
    return Answer(message_dict(reply) | {"id": id_}, [text])


def _undelete(client: MetaClient, dataset_id: str) -> Answer:
    request = operations_pb2.UndeleteDatasetRequest(dataset_id=dataset_id)
    reply = client.operations.UndeleteDataset(request)
    if not reply.success:
        raise refusal(f"dataset {reply.name} is not deleted")
    return Answer(reply, [reply.name])


@datasets.command("placement", "{} cold --follow")
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

    An operator gives the id of a dataset of a tenant in place of its name.

    New segments go there at once, existing ones by a rewrite, which `segplane rewrites` lists,
    pauses and bounds. Run again, it moves the remaining segments.
    """
    if store is None:
        return _stores(client, given_dataset_id(client, name))
    request = operations_pb2.CreateRewriteJobRequest(
        id=str(uuid4()),
        dataset_id=given_dataset_id(client, name),
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


@datasets.command("shard", "{} service_name")
def shard(
    client: MetaClient,
    name: Dataset,
    fields: Annotated[list[str] | None, Positional(metavar="[FIELD[=WEIGHT]]...")] = None,
    none: bool = False,
) -> Answer:
    """Show or replace the fields that lead the sort order of new segments.

    Options:
        fields: Columns that readers filter by; weight 1 if unset.
        none: Remove all sharding fields.
    """
    if fields and none:
        raise usage_error("FIELD and --none exclude each other")
    sharding_fields = [_sharding_field(text) for text in fields or ()]
    read = partial(
        client.catalog.GetShardingFields, catalog_pb2.GetShardingFieldsRequest(name=name)
    )
    reply = read()
    if sharding_fields or none:
        request = catalog_pb2.SetShardingFieldsRequest(
            name=name, fields=sharding_fields, expected_version=reply.version or None
        )
        with refused_with_differences(reply, read):
            client.catalog.SetShardingFields(request)
        reply = read()
    return listing(reply.fields, {"field": "field_name", "weight": lambda f: f"{f.weight:g}"})


def _sharding_field(text: str) -> "common_pb2.ShardingField":
    name, _, weight = text.partition("=")
    try:
        return common_pb2.ShardingField(field_name=name, weight=float(weight or 1))
    except ValueError:
        raise usage_error(f"{text!r} is not FIELD=WEIGHT") from None
