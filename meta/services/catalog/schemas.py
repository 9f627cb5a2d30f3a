"""Schemas: create, read, list, change, delete."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict
from uuid import UUID

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument
from meta.services.catalog import dataset_columns, projection_types
from meta.services.catalog.entry_calls import EntryCalls
from meta.services.messages import authors, checks
from meta.store.catalog import bindings, link_columns, schema_versions
from meta.store.catalog.named_entries import Content
from meta.store.catalog.schemas import COLUMNS_MAX, SCHEMAS, Schema, SchemaChange, SchemaColumn
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2, catalog_pb2_grpc, common_pb2


class _SchemaFields(TypedDict):
    """The fields common to all messages about a schema."""

    id: str
    name: str
    columns: Sequence[common_pb2.Column]


class SchemaCalls(catalog_pb2_grpc.CatalogServiceServicer):
    """The schema calls of CatalogService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def CreateSchema(
        self, request: catalog_pb2.CreateSchemaRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.CreateSchemaResponse:
        """Create a schema; the same name and columns again are the same schema."""
        name = checks.name(request.name)
        columns = _columns(request.columns, "columns")
        if not columns:
            raise InvalidArgument("a schema needs a column", field="columns")
        schema = _CALLS.create(
            self._transactions, request, Content({"name": name, "columns": columns})
        )
        return catalog_pb2.CreateSchemaResponse(**_fields(schema))

    def GetSchema(
        self, request: catalog_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.GetSchemaResponse:
        """Read a schema by id or name, with the columns of its newest version or of another."""
        named = checks.identifier(request)
        number = None
        if request.HasField("number"):
            number = checks.count(request.number, "number", low=1)
        schema, by = self._transactions.read(
            lambda tx: authors.of(tx, _at(tx, SCHEMAS.get(tx, named), number))
        )
        return catalog_pb2.GetSchemaResponse(
            **_fields(schema),
            authors=by,
            version=_CALLS.version_of(schema),
            number=schema.version,
            frozen=schema.is_frozen,
        )

    def ListSchemas(
        self, request: catalog_pb2.ListSchemasRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.ListSchemasResponse:
        """Page through the schemas."""
        schemas, pagination = _CALLS.list_page(self._transactions, request)
        return catalog_pb2.ListSchemasResponse(
            items=[
                catalog_pb2.Schema(
                    **_fields(schema),
                    authors=by,
                    version=version,
                    number=schema.version,
                    frozen=schema.is_frozen,
                )
                for schema, by, version in schemas
            ],
            pagination=pagination,
        )

    def UpdateSchema(
        self, request: catalog_pb2.UpdateSchemaRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.UpdateSchemaResponse:
        """Rename a schema, add and remove columns, all or nothing."""
        schema = _CALLS.update(self._transactions, request, _changes(request), _update)
        return catalog_pb2.UpdateSchemaResponse(
            **_fields(schema), version=_CALLS.version_of(schema), number=schema.version
        )

    def DeleteSchema(
        self, request: catalog_pb2.DeleteSchemaRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.DeleteSchemaResponse:
        """Delete a schema that nothing uses."""
        success = _CALLS.delete(self._transactions, request)
        return catalog_pb2.DeleteSchemaResponse(success=success)


def _at(tx: Transaction, schema: Schema, number: int | None) -> Schema:
    """A schema with the columns of one of its versions. Raises NotFound."""
    if number in (None, schema.version):
        return schema
    assert number is not None
    return replace(schema, columns=schema_versions.read(tx, schema.id, number), version=number)


def _update(
    tx: Transaction, named: UUID | str, changes: SchemaChange, expected: str | None
) -> Schema:
    """Change a schema that all links of its users yield afterwards."""
    locked = dataset_columns.lock_followers(tx, named)
    schema, is_repetition = _CALLS.lock(tx, named, changes, expected)
    if is_repetition:
        return schema
    changed = SCHEMAS.change(tx, schema, changes)
    dataset_columns.follow(tx, changed.id, locked)
    if changes.added:
        bindings.refuse_other_types(tx, changed.id, changes.added)
        added = projection_types.as_link_columns(changes.added)
        link_columns.check_outputs(tx, added, schema_id=changed.id)
    return changed


def _changes(request: catalog_pb2.UpdateSchemaRequest) -> SchemaChange:
    has_name = request.HasField("new_name")
    added = _columns(request.add_columns, "add_columns")
    checks.at_most(request.remove_columns, "remove_columns", COLUMNS_MAX)
    removed = [
        checks.name(name, f"remove_columns[{index}]")
        for index, name in enumerate(request.remove_columns)
    ]
    checks.distinct(removed, "remove_columns")
    both = {column.name for column in added} & set(removed)
    if both:
        raise InvalidArgument(f"column {min(both)!r} is added and removed", field="remove_columns")
    return SchemaChange(
        new_name=checks.name(request.new_name, "new_name") if has_name else None,
        added=added,
        removed=tuple(removed),
        freezes=request.freeze,
        is_revision=request.is_revision,
        order=_order(request),
    )


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


def _content(schema: Schema) -> catalog_pb2.Schema:
    return catalog_pb2.Schema(**_fields(schema))


def _fields(schema: Schema) -> _SchemaFields:
    columns = [
        common_pb2.Column(name=c.name, type=common_pb2.KqlType.ValueType(c.kql_type))
        for c in schema.columns
    ]
    return _SchemaFields(id=str(schema.id), name=schema.name, columns=columns)


_CALLS = EntryCalls(SCHEMAS, _content)
