"""segplane schemas: names and types of columns that views and projections promise."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import typer

from kql.types import ALIASES, TYPES
from meta.client import MetaClient, paged_lists
from meta.v1 import catalog_pb2, common_pb2
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.entry_changes import ExpectedVersion, refused_with_differences
from segplane.cli.output import AsJson, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Create, list, change and delete schemas.")
Name = Annotated[str, typer.Argument(help="The schema.")]


@app.command()
def create(
    name: Name,
    columns: Annotated[list[str], typer.Argument(help="Columns, as code:long.")],
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Create a schema of columns with the types of KQL."""
    typed = [_column(column) for column in columns]
    with connect(address) as client:
        request = catalog_pb2.CreateSchemaRequest(name=name, columns=typed)
        print(client.catalog.CreateSchema(request).id)


@app.command()
def update(
    name: Name,
    rename: Annotated[str | None, typer.Option(help="New name of the schema.")] = None,
    add: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN:TYPE", help="Append a column.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="COLUMN")] = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,COLUMN,...", help="All columns in their new order."),
    ] = None,
    expected_version: ExpectedVersion = None,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Rename a schema, append, remove and reorder columns, all at once or not at all."""
    added = [_column(column) for column in add or ()]
    with connect(address) as client:
        read = partial(client.catalog.GetSchema, catalog_pb2.GetSchemaRequest(name=name))
        before = read()
        request = catalog_pb2.UpdateSchemaRequest(
            id=before.id,
            new_name=rename,
            add_columns=added,
            remove_columns=remove or (),
            column_order=order.split(",") if order else (),
            expected_version=expected_version or before.version or None,
        )
        with refused_with_differences(before, read):
            reply = client.catalog.UpdateSchema(request)
    print(" ".join(map(_text, reply.columns)))


@app.command()
def freeze(name: Name, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Publish a schema: only `revise` changes it afterwards. Cannot be undone."""
    with connect(address) as client:
        request = catalog_pb2.UpdateSchemaRequest(name=name, freeze=True)
        reply = client.catalog.UpdateSchema(request)
    print(f"{reply.name} version {reply.number}, frozen")


@app.command()
def revise(
    name: Name,
    add: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN:TYPE", help="Append a column.")
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="COLUMN")] = None,
    expected_version: ExpectedVersion = None,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Make the next version of a frozen schema; datasets that follow it get its columns."""
    added = [_column(column) for column in add or ()]
    if not added and not remove:
        raise usage("name what the next version has or lacks: --add, --remove")
    with connect(address) as client:
        before = client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(name=name))
        request = catalog_pb2.UpdateSchemaRequest(
            id=before.id,
            add_columns=added,
            remove_columns=remove or (),
            expected_version=expected_version or before.version or None,
            is_revision=True,
        )
        reply = client.catalog.UpdateSchema(request)
    print(f"{reply.name} version {reply.number}: {' '.join(map(_text, reply.columns))}")


@app.command()
def history(name: Name, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the versions of a schema, the newest first."""
    with connect(address) as client:
        newest = client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(name=name))
        versions = [newest]
        for number in range(newest.number - 1, 0, -1):
            request = catalog_pb2.GetSchemaRequest(id=newest.id, number=number)
            versions.append(client.catalog.GetSchema(request))
    if as_json:
        print_json(versions)
        return
    rows = [(str(version.number), " ".join(map(_text, version.columns))) for version in versions]
    print_table(("version", "columns"), rows)
    if newest.frozen:
        print("frozen: `segplane schemas revise` makes the next version")


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the schemas, oldest first."""
    with connect(address) as client:
        schemas = _all(client)
        if as_json:
            print_json(schemas)
            return
        rows = [(s.name, s.id, " ".join(map(_text, s.columns))) for s in schemas]
    print_table(("name", "id", "columns"), rows)


@app.command()
def delete(name: Name, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Delete a schema that nothing has."""
    with connect(address) as client:
        client.catalog.DeleteSchema(catalog_pb2.DeleteSchemaRequest(name=name))


def _column(text: str) -> common_pb2.Column:
    name, _, type_ = text.rpartition(":")
    if not name or type_ not in ALIASES:
        raise usage(f"column {text!r} is not name:type, with one of the types {', '.join(TYPES)}")
    number = common_pb2.KqlType.ValueType(TYPES.index(ALIASES[type_]))
    return common_pb2.Column(name=name, type=number)


def _text(column: common_pb2.Column) -> str:
    return f"{column.name}:{TYPES[column.type]}"


def _all(client: MetaClient) -> Iterator[catalog_pb2.Schema]:
    for page in paged_lists.replies(client.catalog.ListSchemas, catalog_pb2.ListSchemasRequest()):
        yield from page.items
