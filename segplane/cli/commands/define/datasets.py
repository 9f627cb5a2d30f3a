"""segplane datasets: named sets of telemetry records."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from segplane.cli.commands.define.dataset_columns import columns
from segplane.cli.commands.define.dataset_deduplication import deduplication
from segplane.cli.commands.define.dataset_placement import placement
from segplane.cli.commands.define.dataset_settings import limits, retention, settings
from segplane.cli.commands.define.dataset_sharding import shard
from segplane.cli.commands.read.reading import preview
from segplane.cli.commands.read.stats import segment_facts
from segplane.cli.connection import refusal
from segplane.cli.messages import MetaClient, catalog_pb2, janitor_pb2, operations_pb2
from segplane.cli.nouns import Noun
from segplane.cli.options import Dataset, dataset_id
from segplane.cli.output import NONE, Answer, Fact, author_facts, facts, listing, message_dict
from segplane.cli.parameters import Positional

datasets: "Noun[catalog_pb2.Dataset]" = Noun(
    "datasets", {"id": "id", "name": "name", "note": lambda d: _note(d.name)}, sample="checkout"
)
app = datasets.app
datasets.command("retention", "{} --event-retention 30d")(retention)
datasets.command("limits", "{} --records-per-month 1000000")(limits)
datasets.command("columns", "{} --promote status:int:record:http.status_code")(columns)
datasets.command("deduplication", "{} --deduplicate-by order_id --deduplicate-days 7")(
    deduplication
)
datasets.command("placement", "{} cold --follow")(placement)
datasets.command("shard", "{} service_name")(shard)
datasets.command("preview", "{} --signal logs")(preview)
datasets.command("settings", "{}", hidden=True)(settings)


def _note(name: str) -> str:
    """Return a note for a name that no new dataset could have."""
    from segments import dataset_names

    reason = dataset_names.reserved(name)
    return f"rename it: {reason}" if reason else ""


@datasets.command("create", "{}")
def create(client: MetaClient, name: Dataset) -> Answer:
    """Create a dataset; the same name again is fine."""
    reply = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
    return Answer(reply, [reply.id])


@datasets.command("rename", "{} shop")
def rename(client: MetaClient, name: Dataset, new_name: str) -> Answer:
    """Rename a dataset; segments, tokens and views stay, and older versions keep the old name.

    Options:
        new_name: The new name.
    """
    request = operations_pb2.RenameDatasetRequest(
        dataset_id=dataset_id(client, name), new_name=new_name
    )
    reply = client.operations.RenameDataset(request)
    return Answer(reply, [reply.name])


@datasets.command("list")
def list_(client: MetaClient) -> Answer:
    """List the datasets, oldest first."""
    from segplane.read.lookup import all_datasets

    listed = all_datasets(client)
    notes = {dataset.id: note for dataset in listed if (note := _note(dataset.name))}
    data = [
        message_dict(dataset) | ({"note": notes[dataset.id]} if dataset.id in notes else {})
        for dataset in listed
    ]
    return Answer(data, datasets.listing(listed).text)


@datasets.command("usage", "{}")
def usage(
    client: MetaClient,
    names: Annotated[list[str] | None, Positional(metavar="[NAME]...")] = None,
) -> Answer:
    """Count the records that datasets took this month (UTC), with their limit.

    Records are those that were acknowledged; the limit counts them. Rows are in the segments of
    all months. Duplicates are records that were rows already.

    Options:
        names: Only these datasets.
    """
    from segplane.read.lookup import all_datasets, read_usages

    if names:
        ids = [dataset_id(client, name) for name in names]
    else:
        ids = [dataset.id for dataset in all_datasets(client)]
    return listing(
        read_usages(client, ids),
        {
            "dataset": "dataset_id",
            "month": "month",
            "records": "records",
            "limit": _limit,
            "rows": lambda usage: _count(usage, "rows"),
            "duplicates": lambda usage: _count(usage, "duplicates"),
        },
    )


@datasets.command("show", "{}")
def show(client: MetaClient, name: Dataset) -> Answer:
    """Show one dataset with its figures."""
    from segplane.read.lookup import read_usages

    dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
    stats = client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest(dataset_name=name))
    (usage,) = read_usages(client, [dataset.id])
    formats = client.operations.GetSegmentFormats(
        operations_pb2.GetSegmentFormatsRequest(dataset_id=dataset.id)
    )
    texts: Sequence[Fact] = (
        ("id", dataset.id),
        ("name", dataset.name),
        *author_facts(dataset.authors),
        *segment_facts(stats),
        *((_format_name(f.format_version), f"{f.segments} segments") for f in formats.formats),
        ("rows", _count(usage, "rows")),
        ("duplicates", _count(usage, "duplicates")),
        (f"records accepted in {usage.month}", usage.records),
        ("records a month", _limit(usage)),
        *_merge_debt(usage),
    )
    parts = {"stats": stats, "usage": usage, "formats": formats}
    return Answer(message_dict(dataset) | parts, facts(texts))


def _limit(usage: "operations_pb2.DatasetUsage") -> object:
    return NONE if usage.limit < 0 else usage.limit


def _count(usage: Any, field: str) -> object:
    return getattr(usage, field) if usage.HasField(field) else NONE


def _merge_debt(usage: "operations_pb2.DatasetUsage") -> Iterator[Fact]:
    """The segments that wait for a merge, while they are beyond meta's bound."""
    if usage.merge_debt:
        is_held = usage.merge_debt >= usage.merge_debt_max
        effect = "exports are held" if is_held else "flushes are larger and later"
        yield "merges behind", f"{usage.merge_debt} segments wait for one: {effect}"


def _format_name(version: int) -> str:
    """A segment's format; that of 0.1.0's segments and of other clients is not known."""
    return f"format {version}" if version else "format not known"


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
