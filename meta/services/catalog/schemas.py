"""Schemas: create, read, list, change, delete."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from google.protobuf.message import Message

from meta.errors import InvalidArgument
from meta.services.catalog import dataset_columns, link_types
from meta.services.catalog.entry_calls import EntryCalls
from meta.services.messages import checks
from meta.store.catalog import bindings, link_columns, schema_versions
from meta.store.catalog.named_entries import Content
from meta.store.catalog.schemas import COLUMNS_MAX, SCHEMAS, Schema, SchemaChange, SchemaColumn
from meta.store.engine.pool import Transaction
from meta.store.versions import upgrades
from meta.v1 import catalog_pb2, common_pb2
from meta.v1.catalog_pb2 import CreateSchemaRequest, UpdateSchemaRequest


class SchemaCalls(EntryCalls[Schema, CreateSchemaRequest, UpdateSchemaRequest, SchemaChange]):
    """The schema calls of CatalogService."""

    entries = SCHEMAS

    def content(self, schema: Schema, /) -> catalog_pb2.Schema:
        """The schema's name and columns."""
        columns = [
            common_pb2.Column(name=c.name, type=common_pb2.KqlType.ValueType(c.kql_type))
            for c in schema.columns
        ]
        return catalog_pb2.Schema(id=str(schema.id), name=schema.name, columns=columns)

    def others(self, schema: Schema) -> Mapping[str, object]:
        """The version of the columns, and whether only a revision may change them."""
        return {"number": schema.version, "frozen": schema.is_frozen}

    def new(self, request: CreateSchemaRequest, /) -> Content:
        """The schema to create."""
        name = checks.name(request.name)
        columns = _columns(request.columns, "columns")
        if not columns:
            raise InvalidArgument("a schema needs a column", field="columns")
        return Content({"name": name, "columns": columns})

    def reader(self, request: Message) -> Callable[[Transaction, UUID | str], Schema]:
        """Read a schema with the columns of its newest version or of another."""
        number = checks.optional_count(request, "number", low=1)
        return lambda tx, identifier: _at(tx, SCHEMAS.get(tx, identifier), number)

    def change(
        self, tx: Transaction, identifier: UUID | str, changes: SchemaChange, expected: str | None
    ) -> Schema:
        """Change a schema that all links of its users yield afterwards."""
        locked = dataset_columns.lock_followers(tx, identifier)
        schema, is_repetition = self.lock(tx, identifier, changes, expected)
        if is_repetition:
            return schema
        if changes.renamed:
            upgrades.require_finished(tx, "a new name of a column")
        changed = SCHEMAS.change(tx, schema, changes)
        dataset_columns.follow(tx, changed.id, locked, changes.renamed)
        if changes.renamed:
            link_types.follow_names(tx, locked)
        new_names = {column.name for column in changes.added} | set(changes.renamed.values())
        if new_names:
            new = [column for column in changed.columns if column.name in new_names]
            bindings.refuse_other_types(tx, changed.id, new)
            link_columns.check_outputs(tx, new, schema_id=changed.id)
        return changed

    def changes(self, request: UpdateSchemaRequest, /) -> SchemaChange:
        """A new name, columns to add and to remove, all or nothing."""
        added = _columns(request.add_columns, "add_columns")
        checks.at_most(request.remove_columns, "remove_columns", COLUMNS_MAX)
        removed = [
            checks.name(name, f"remove_columns[{index}]")
            for index, name in enumerate(request.remove_columns)
        ]
        checks.distinct(removed, "remove_columns")
        both = {column.name for column in added} & set(removed)
        if both:
            raise InvalidArgument(
                f"column {min(both)!r} is added and removed", field="remove_columns"
            )
        checks.at_most(request.rename_columns, "rename_columns", COLUMNS_MAX)
        renamed = {
            checks.name(item.name, f"rename_columns[{index}].name"): checks.name(
                item.new_name, f"rename_columns[{index}].new_name"
            )
            for index, item in enumerate(request.rename_columns)
        }
        for names in ([item.name for item in request.rename_columns], list(renamed.values())):
            checks.distinct(names, "rename_columns")
        return SchemaChange(
            new_name=checks.new_names(request).get("name"),
            added=added,
            removed=tuple(removed),
            freezes=request.freeze,
            is_revision=request.is_revision,
            order=_order(request),
            renamed=renamed,
        )


def _at(tx: Transaction, schema: Schema, number: int | None) -> Schema:
    """A schema with the columns of one of its versions. Raises NotFound."""
    if number in (None, schema.version):
        return schema
    assert number is not None
    return replace(schema, columns=schema_versions.read(tx, schema.id, number), version=number)


def _order(request: catalog_pb2.UpdateSchemaRequest) -> tuple[str, ...]:
    checks.at_most(request.column_order, "column_order", COLUMNS_MAX)
    checks.distinct(request.column_order, "column_order")
    return tuple(
        checks.name(name, f"column_order[{index}]")
        for index, name in enumerate(request.column_order)
    )


def _columns(messages: Sequence[common_pb2.Column], field: str) -> tuple[SchemaColumn, ...]:
    checks.at_most(messages, field, COLUMNS_MAX)
    columns = []
    for index, message in enumerate(messages):
        at = f"{field}[{index}]"
        if message.type not in common_pb2.KqlType.values():
            raise InvalidArgument(f"{at}.type is {message.type}, no KqlType", field=f"{at}.type")
        columns.append(SchemaColumn(checks.name(message.name, f"{at}.name"), message.type))
    checks.distinct([column.name for column in columns], field)
    return tuple(columns)
