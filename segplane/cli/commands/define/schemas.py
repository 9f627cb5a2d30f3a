"""segplane schemas: names and types of columns that views and projections promise."""

from collections.abc import Iterable
from typing import Annotated, Any

from segplane.cli.connection import usage
from segplane.cli.entry_changes import ExpectedVersion, catalog_call, update_entry
from segplane.cli.messages import MetaClient, catalog_pb2, common_pb2
from segplane.cli.nouns import Noun, pages
from segplane.cli.output import Answer, listing
from segplane.cli.parameters import Option, Positional

Name = Annotated[str, Positional(help="The schema.", names_of="schemas")]

schemas: "Noun[catalog_pb2.Schema]" = Noun(
    "schemas",
    {"name": "name", "id": "id", "columns": lambda schema: _columns(schema)},
    sample="order",
)
app = schemas.app


@schemas.command("create", "{} order_id:string price:real")
def create(client: MetaClient, name: Name, columns: list[str]) -> Answer:
    """Create a schema of columns with the types of KQL.

    Options:
        columns: Columns, as code:long.
    """
    reply = catalog_call(client, "CreateSchema", name=name, columns=map(_column, columns))
    return Answer(reply, [reply.id])


@schemas.command("update", "{} --add discount:real")
def update(
    client: MetaClient,
    name: Name,
    rename: str | None = None,
    add: Annotated[list[str] | None, Option(metavar="COLUMN:TYPE")] = None,
    remove: Annotated[list[str] | None, Option(metavar="COLUMN")] = None,
    rename_column: Annotated[list[str] | None, Option(metavar="COLUMN=NAME")] = None,
    order: Annotated[str | None, Option(metavar="COLUMN,COLUMN,...")] = None,
    freeze: bool = False,
    revise: bool = False,
    expected_version: ExpectedVersion = None,
) -> Answer:
    """Rename a schema, append, remove, rename and reorder columns, all at once or not at all.

    Options:
        rename: New name of the schema.
        add: Append a column.
        remove: Remove a column.
        rename_column: Give a column another name. It keeps its values and reads the same attribute.
        order: All columns in their new order.
        freeze: Publish it: only --revise changes it afterwards. Cannot be undone.
        revise: Make the next version of a frozen schema; datasets that follow it get its columns.
    """
    if revise and not (add or remove or rename_column):
        raise usage("name what the next version has or lacks: --add, --remove, --rename-column")
    reply = update_entry(
        *(client, "Schema", name, expected_version),
        new_name=rename,
        add_columns=map(_column, add or ()),
        remove_columns=remove or (),
        rename_columns=map(_new_name, rename_column or ()),
        column_order=order.split(",") if order else (),
        freeze=freeze,
        is_revision=revise,
    )
    frozen = ", frozen" if freeze else ""
    return Answer(reply, [f"{reply.name} version {reply.number}{frozen}: {_columns(reply)}"])


@schemas.lists
def list_(client: MetaClient) -> "Iterable[catalog_pb2.Schema]":
    """List the schemas, oldest first."""
    return pages(client.catalog.ListSchemas, catalog_pb2.ListSchemasRequest())


@schemas.command("show", "{}")
def show(client: MetaClient, name: Name) -> Answer:
    """Show the versions of a schema, the newest first."""
    newest = catalog_call(client, "GetSchema", name=name)
    older = range(newest.number - 1, 0, -1)
    versions = [newest, *(catalog_call(client, "GetSchema", id=newest.id, number=n) for n in older)]
    note = "frozen: `segplane schemas update --revise` makes the next version"
    return listing(
        versions, {"version": "number", "columns": _columns}, notes=[note] * newest.frozen
    )


@schemas.deletes
def delete(client: MetaClient, name: Name) -> Any:
    """Delete a schema that nothing has."""
    return catalog_call(client, "DeleteSchema", name=name)


def _column(text: str) -> "common_pb2.Column":
    from kql.types import ALIASES, TYPES

    name, _, type_ = text.rpartition(":")
    if not name or type_ not in ALIASES:
        raise usage(f"column {text!r} is not name:type, with one of the types {', '.join(TYPES)}")
    number = common_pb2.KqlType.ValueType(TYPES.index(ALIASES[type_]))
    return common_pb2.Column(name=name, type=number)


def _new_name(text: str) -> "catalog_pb2.ColumnRename":
    name, separator, new_name = text.partition("=")
    if not separator:
        raise usage(f"column {text!r} is not old=new")
    return catalog_pb2.ColumnRename(name=name, new_name=new_name)


def _columns(
    schema: "catalog_pb2.Schema | catalog_pb2.GetSchemaResponse | catalog_pb2.UpdateSchemaResponse",
) -> str:
    from kql.types import TYPES

    return " ".join(f"{column.name}:{TYPES[column.type]}" for column in schema.columns)
