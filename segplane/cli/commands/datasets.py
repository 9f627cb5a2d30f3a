"""segplane datasets: named sets of telemetry records."""

import json
from typing import Annotated

import typer

from meta.v1 import catalog_pb2, janitor_pb2, operations_pb2
from segments import dataset_names
from segments.keys import merged_prefix
from segplane.cli.commands.dataset_binding import bind, unbind
from segplane.cli.commands.dataset_events import claim_events
from segplane.cli.commands.dataset_move import move
from segplane.cli.commands.dataset_settings import Name, settings, show_usage
from segplane.cli.commands.dataset_sharding import shard
from segplane.cli.commands.reading import preview
from segplane.cli.commands.stats import segment_facts
from segplane.cli.connection import DEFAULT_ADDRESS, EXIT_REFUSED, MetaAddress, complain, connect
from segplane.cli.output import (
    NONE,
    AsJson,
    author_facts,
    message_dict,
    print_facts,
    print_json,
    print_table,
)
from segplane.read.lookup import all_datasets, read_usages

app = typer.Typer(no_args_is_help=True, help="Create, list, set up and delete datasets.")
app.command()(settings)
app.command()(shard)
app.command()(bind)
app.command()(unbind)
app.command()(move)
app.command("claim-events")(claim_events)
app.command("usage")(show_usage)
app.command()(preview)


@app.command()
def create(name: Name, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Create a dataset; the same name again is fine."""
    with connect(address) as client:
        reply = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
    print(reply.id)


@app.command()
def rename(
    name: Name,
    new_name: Annotated[str, typer.Argument(help="The new name.")],
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Rename a dataset; segments, tokens and views stay, and older versions keep the old name."""
    with connect(address) as client:
        dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
        request = operations_pb2.RenameDatasetRequest(dataset_id=dataset.id, new_name=new_name)
        print(client.operations.RenameDataset(request).name)


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the datasets, oldest first."""
    with connect(address) as client:
        datasets = all_datasets(client)
    notes = [_note(dataset) for dataset in datasets]
    if as_json:
        pairs = zip(datasets, notes, strict=True)
        print(
            json.dumps([message_dict(d) | ({"note": n} if n else {}) for d, n in pairs], indent=2)
        )
    elif any(notes):
        rows = [(d.id, d.name, n) for d, n in zip(datasets, notes, strict=True)]
        print_table(("id", "name", "note"), rows)
    else:
        print_table(("id", "name"), [(d.id, d.name) for d in datasets])


@app.command()
def show(name: Name, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """Show one dataset with its figures."""
    with connect(address) as client:
        dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
        stats = client.janitor.GetJanitorStats(
            janitor_pb2.GetJanitorStatsRequest(dataset_name=name)
        )
        (usage,) = read_usages(client, [dataset.id])
        formats = client.operations.GetSegmentFormats(
            operations_pb2.GetSegmentFormatsRequest(dataset_id=dataset.id)
        )
    if as_json:
        print_json(dataset, stats=stats, usage=usage, formats=formats)
        return
    print_facts(
        (
            ("id", dataset.id),
            ("name", dataset.name),
            *author_facts(dataset.authors),
            *segment_facts(stats),
            *((_format_name(f.format_version), f"{f.segments} segments") for f in formats.formats),
            ("rows", usage.rows if usage.HasField("rows") else NONE),
            ("duplicates", usage.duplicates if usage.HasField("duplicates") else NONE),
            (f"records accepted in {usage.month}", usage.records),
            ("records a month", NONE if usage.limit < 0 else usage.limit),
            *_merge_debt(usage),
        )
    )


def _note(dataset: catalog_pb2.Dataset) -> str:
    """Return the note on a name that no new dataset could have, or ""."""
    reason = dataset_names.reserved(dataset.name)
    return f"rename it: {reason}" if reason else ""


def _merge_debt(usage: operations_pb2.DatasetUsage) -> list[tuple[str, str]]:
    """The segments that wait for a merge, while they are beyond meta's bound."""
    if not usage.merge_debt:
        return []
    is_held = usage.merge_debt >= usage.merge_debt_max
    effect = "exports are held" if is_held else "flushes are larger and later"
    return [("merges behind", f"{usage.merge_debt} segments wait for one: {effect}")]


def _format_name(version: int) -> str:
    """A segment's format; that of 0.1.0's segments and of other clients is not known."""
    return f"format {version}" if version else "format not known"


@app.command()
def delete(
    name: Name,
    keep_files: Annotated[
        bool,
        typer.Option(
            "--keep-files", help="Leave the objects of its segments in the bucket permanently."
        ),
    ] = False,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Delete a dataset; for 7 days `datasets undelete` brings it back.

    After that its segments leave the catalog and their objects are deleted, or stay where they are
    with --keep-files, listed by `fsck`.
    """
    with connect(address) as client:
        dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
        request = catalog_pb2.DeleteDatasetRequest(id=dataset.id, keep_files=keep_files)
        reply = client.catalog.DeleteDataset(request)
    if keep_files and reply.success and not reply.keeps_files:
        complain(
            "this meta knows no --keep-files and deletes the objects in 7 days: run `segplane"
            f" datasets undelete {dataset.id}`, and upgrade it"
        )
        raise typer.Exit(EXIT_REFUSED)
    kept = f", its files stay below {merged_prefix(dataset.id)}" if reply.keeps_files else ""
    print(f"deleted{kept}; bring it back with: segplane datasets undelete {dataset.id}")


@app.command()
def undelete(
    dataset_id: Annotated[str, typer.Argument(help="Id that `delete` printed.")],
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Bring a deleted dataset back while its grace lasts."""
    with connect(address) as client:
        request = operations_pb2.UndeleteDatasetRequest(dataset_id=dataset_id)
        reply = client.operations.UndeleteDataset(request)
    if not reply.success:
        complain(f"dataset {reply.name} is not deleted")
        raise typer.Exit(EXIT_REFUSED)
    print(reply.name)
