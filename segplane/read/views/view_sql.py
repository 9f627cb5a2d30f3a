"""Views of the catalog as SQL over tables that are named as their datasets are."""

from collections.abc import Iterator, Sequence

from kql import queries
from kql.dataset_table import dataset_table, promoted
from kql.errors import KqlError
from kql.scope import CheckedQuery
from kql.sql.engines import EngineName
from kql.sql.relations import to_sql
from kql.typed import Columns, Promoted, Table
from kql.types import TYPES
from meta.client import MetaClient, paged_lists
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as ops
from segments.parquet.spec import AUTOMATIC_TYPES, automatic_name
from segplane.read.lookup import settings_at

_SCOPES = {
    common_pb2.ATTRIBUTE_SCOPE_RECORD: "record",
    common_pb2.ATTRIBUTE_SCOPE_RESOURCE: "resource",
    common_pb2.ATTRIBUTE_SCOPE_SCOPE: "scope",
    common_pb2.ATTRIBUTE_SCOPE_RECEIPT: "receipt",
    common_pb2.ATTRIBUTE_SCOPE_REQUEST: "request",
}


class ViewUnreadable(Exception):
    """A view cannot be read as it is; the message says what to change."""


def view_sql(client: MetaClient, name: str, engine: EngineName) -> str:
    """Return the SQL of a view. Raises ViewUnreadable, NotFound."""
    try:
        return to_sql(compiled_view(client, name), engine, is_pretty=True)
    except KqlError as error:
        raise ViewUnreadable(f"view {name!r}: {error}") from None


def compiled_view(client: MetaClient, name: str, *, is_complete: bool = False) -> CheckedQuery:
    """Return a view as the union over its links. Raises ViewUnreadable, NotFound.

    `is_complete` says that every promoted column is present in the read rows, regardless of the
    files. Bound columns stay null in segments from before the binding, and never stand for an
    attribute.
    """
    view = client.catalog.GetView(catalog_pb2.GetViewRequest(name=name))
    links = list(all_links(client, view.id))
    if not links:
        raise ViewUnreadable(f"view {name!r} reads no dataset: link it to one with a projection")
    schema = _schema(client, view.schema_id) if view.HasField("schema_id") else {}
    branches = [_branch(client, link, schema, is_complete=is_complete) for link in links]
    return queries.compile_view(branches, schema)


def all_links(client: MetaClient, view_id: str) -> Iterator[catalog_pb2.ViewDatasetProjection]:
    """Read every page of a view's links, oldest first."""
    request = catalog_pb2.ListViewDatasetProjectionsRequest(view_id=view_id)
    for page in paged_lists.replies(client.catalog.ListViewDatasetProjections, request):
        yield from page.items


def _branch(
    client: MetaClient,
    link: catalog_pb2.ViewDatasetProjection,
    schema: Columns,
    *,
    is_complete: bool,
) -> CheckedQuery:
    """Return what one link yields. Raises ViewUnreadable for a link that was never checked."""
    projection = client.catalog.GetProjection(
        catalog_pb2.GetProjectionRequest(id=link.projection_id)
    )
    dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=link.dataset_id))
    table = table_of(client, dataset.id, dataset.name, is_complete=is_complete)
    try:
        state = queries.compile_projection(projection.projection, table)
        queries.check_output(projection.projection, state.columns, schema)
    except KqlError as error:
        raise ViewUnreadable(
            f"projection {projection.name!r} does not fit dataset {table.name!r}: {error}"
        ) from None
    return state


def table_of(
    client: MetaClient,
    dataset_id: str,
    name: str,
    version: int | None = None,
    *,
    is_complete: bool,
    has_words: bool = False,
) -> Table:
    """Return a dataset's columns as queries see them, or without words, as links do.

    They are those of a version, of today without one.
    """
    settings = settings_at(client, dataset_id, version)
    columns, automatic = settings.promoted_columns.columns, settings.automatic_columns
    return table_with(
        columns,
        name,
        dataset_id,
        is_complete=is_complete,
        has_words=has_words,
        automatic=automatic,
    )


def table_with(
    stored: Sequence[common_pb2.PromotedColumn],
    name: str,
    dataset_id: str,
    *,
    is_complete: bool,
    has_words: bool,
    automatic: ops.AutomaticColumns | None = None,
) -> Table:
    """Return a dataset with some promoted columns, and automatic ones, as queries see it."""
    columns = [promoted(c.name, TYPES[c.type], _SCOPES[c.scope], c.attribute) for c in stored]
    bound = {c.name for c in stored if c.bound}
    complete = [c.name for c in columns if is_complete and c.name not in bound]
    return dataset_table(
        name,
        columns,
        complete,
        has_words=has_words,
        automatic=_automatic(automatic),
        dataset_id=dataset_id,
    )


def _automatic(columns: ops.AutomaticColumns | None) -> Iterator[Promoted]:
    """Yield the automatic columns that may stand for attributes of records."""
    for column in columns.columns if columns is not None and columns.enabled else ():
        type_ = TYPES[column.type] if column.type < len(TYPES) else None
        if type_ is not None and type_ in AUTOMATIC_TYPES:
            name = automatic_name(column.field_id)
            yield promoted(name, type_, "record", column.attribute)


def _schema(client: MetaClient, schema_id: str) -> Columns:
    reply = client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(id=schema_id))
    return {column.name: TYPES[column.type] for column in reply.columns}
