"""Checks of projections: alone when they are made, over a dataset when they are linked."""

from collections.abc import Iterable
from uuid import UUID

from kql import queries
from kql.dataset_table import any_dataset, dataset_table, promoted
from kql.errors import KqlError
from kql.pushdown.reads import used_columns
from kql.typed import Columns, Promoted
from kql.types import TYPES
from meta.errors import InvalidArgument
from meta.store.catalog import dataset_layouts, link_columns
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.catalog.link_columns import TypedLink
from meta.store.catalog.named_entries import keep_schema
from meta.store.catalog.schemas import SCHEMAS, SchemaColumn
from meta.store.engine.pool import Transaction
from meta.v1 import common_pb2

_SCOPES = {
    common_pb2.ATTRIBUTE_SCOPE_RECORD: "record",
    common_pb2.ATTRIBUTE_SCOPE_RESOURCE: "resource",
    common_pb2.ATTRIBUTE_SCOPE_SCOPE: "scope",
    common_pb2.ATTRIBUTE_SCOPE_RECEIPT: "receipt",
}


def check_text(tx: Transaction, text: str, schema_id: UUID | None) -> None:
    """Check a projection as far as possible without a dataset. Raises InvalidArgument."""
    try:
        queries.check_projection(text, _schema(tx, schema_id), any_dataset())
    except KqlError as error:
        raise InvalidArgument(str(error), field="projection") from None


def typed_link(
    tx: Transaction, text: str, dataset_id: UUID, schema_ids: Iterable[UUID | None]
) -> TypedLink:
    """Check a projection over a dataset and against schemas. Raises InvalidArgument."""
    rows = dataset_layouts.read(tx, [dataset_id])[dataset_id].promoted_columns
    columns = [_promoted(row) for row in rows]
    expected = [_schema(tx, schema_id) for schema_id in schema_ids]
    try:
        state = queries.compile_projection(text, dataset_table("", columns))
        for schema in expected:
            queries.check_output(text, state.columns, schema)
    except KqlError as error:
        raise InvalidArgument(str(error), field="projection_id") from None
    reads = used_columns(state.relation, frozenset())
    passes = {row.name for row in rows if row.name in state.columns and row.name not in reads}
    passes = {n for n in passes if n in used_columns(state.relation, frozenset([n]))}
    return TypedLink(
        tuple(SchemaColumn(row.name, row.kql_type) for row in rows if row.name in reads),
        tuple(
            SchemaColumn(name, TYPES.index(type_))
            for name, type_ in state.columns.items()
            if name not in passes
        ),
        tuple(SchemaColumn(row.name, row.kql_type) for row in rows if row.name in passes),
    )


def check_schema_of(
    tx: Transaction,
    schema_id: UUID | None,
    *,
    view_id: UUID | None = None,
    projection_id: UUID | None = None,
) -> None:
    """Refuse a new schema of a view or projection whose links do not yield it."""
    schema = SCHEMAS.get(tx, schema_id) if schema_id is not None else None
    if schema is not None:
        link_columns.check_outputs(tx, schema.columns, view_id=view_id, projection_id=projection_id)


def _schema(tx: Transaction, schema_id: UUID | None) -> Columns:
    if schema_id is None:
        return {}
    # No column is added to it until this link is stored.
    keep_schema(tx, schema_id)
    return {c.name: TYPES[c.kql_type] for c in SCHEMAS.get(tx, schema_id).columns}


def _promoted(row: PromotedColumnRow) -> Promoted:
    scope = _SCOPES[common_pb2.AttributeScope.ValueType(row.scope)]
    return promoted(row.name, TYPES[row.kql_type], scope, row.attribute)
