"""Links: a view reads a dataset through a projection."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Select,
    Uuid,
    and_,
    bindparam,
    delete,
    func,
    literal_column,
    select,
)
from sqlalchemy import exists as exists_
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import NotFound, ReplyTooLarge
from meta.store.catalog import datasets, shown_names
from meta.store.engine import keyset, scope
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.catalog import datasets as datasets_table
from meta.store.tables.catalog import link_columns, projections, view_dataset_projections, views
from segments.ids import new_uuid7

_links = view_dataset_projections


@dataclass(frozen=True, slots=True)
class Link:
    """The three ends of a link."""

    dataset_id: UUID
    view_id: UUID
    projection_id: UUID


@dataclass(frozen=True, slots=True)
class Ends:
    """The text of a link's projection, and the schemas of its view and projection, if any."""

    text: str
    schema_ids: tuple[UUID | None, UUID | None]


@dataclass(frozen=True, slots=True)
class ListedLink:
    """A link as it is listed; `is_typed` if its projection was checked over its dataset."""

    id: UUID
    dataset_id: UUID
    view_id: UUID
    projection_id: UUID
    is_typed: bool


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """A filter of links; None does not filter."""

    dataset_id: UUID | None = None
    view_id: UUID | None = None
    projection_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A view with the (dataset name, expression) pairs that it reads."""

    id: UUID
    name: str
    pairs: tuple[tuple[str, str], ...]


# FOR SHARE: neither the schema nor the text changes until the link is stored.
_KEEP_VIEW = (
    select(views.c.schema_id)
    .where(views.c.id == bindparam("id"), scope.is_reached(views.c.tenant_key))
    .with_for_update(read=True)
)
_KEEP_PROJECTION = (
    select(projections.c.expression, projections.c.schema_id)
    .where(projections.c.id == bindparam("id"), scope.is_reached(projections.c.tenant_key))
    .with_for_update(read=True)
)
_IS_REACHED = scope.is_reached(_links.c.tenant_key)
_IS_LINK = and_(_IS_REACHED, *(_links.c[name] == bindparam(name) for name in Link.__slots__))
_FIND = select(_links.c.id).where(_IS_LINK)
_ORDERED = (
    select(_links.c.id, _links.c.dataset_id, _links.c.view_id, _links.c.projection_id)
    .order_by(_links.c.dataset_id, _links.c.view_id, _links.c.projection_id)
    .limit(bindparam("most"))
)
_OF_PROJECTION = _ORDERED.where(_links.c.projection_id == bindparam("projection"))
_INSERT = upsert(_links).on_conflict_do_nothing().returning(_links.c.id)
_DELETE = delete(_links).where(_IS_LINK)
_DELETE_OF_DATASET = delete(_links).where(_links.c.dataset_id == bindparam("dataset"))
_IDS = bindparam("ids", type_=ARRAY(Uuid))
_IS_TYPED = exists_(select(link_columns.c.link_id).where(link_columns.c.link_id == _links.c.id))
_TYPED_OF_DATASETS = _ORDERED.where(_links.c.dataset_id == func.any(_IDS), _IS_TYPED)
_BY_IDS = select(*row_columns(ListedLink, _links, is_typed=_IS_TYPED)).where(
    _links.c.id == func.any(_IDS), _IS_REACHED
)
_LISTED: Select[*tuple[Any, ...]] = select(_links.c.id, literal_column("0").label("size")).where(
    _links.c.tenant_key == scope.NAMING_TENANT
)
_PAIR_BYTES = scope.statement(f"""
    SELECT v.id, octet_length(v.name) + coalesce((
        SELECT sum(octet_length({shown_names.of("d")}) + octet_length(p.projection) + 16)
        FROM view_dataset_projections l
        JOIN datasets d ON d.id = l.dataset_id JOIN projections p ON p.id = l.projection_id
        WHERE l.view_id = v.id), 0) AS size
    FROM views v WHERE v.tenant_key = :naming_tenant
""")  # noqa: S608
_SOURCES: Select[*tuple[Any, ...]] = select(
    *_PAIR_BYTES.columns(views.c.id, literal_column("0").label("size")).subquery("sources").c
)
_VIEW_NAMES = select(views.c.id, views.c.name).where(
    views.c.id == func.any(_IDS), scope.is_reached(views.c.tenant_key)
)
_PAIRS = (
    select(_links.c.view_id, shown_names.column(), projections.c.expression)
    .join(datasets_table, datasets_table.c.id == _links.c.dataset_id)
    .join(projections, projections.c.id == _links.c.projection_id)
    .where(_links.c.view_id == func.any(_IDS), _IS_REACHED)
    .order_by(_links.c.view_id, _links.c.id)
)


def lock_ends(tx: Transaction, link: Link) -> Ends:
    """Keep all three as they are until the commit. Raises NotFound for the one that is missing."""
    datasets.lock_layout(tx, link.dataset_id)
    view = tx.execute(_KEEP_VIEW, {"id": link.view_id}).one_or_none()
    if view is None:
        raise NotFound("there is no such view", view_id=link.view_id)
    projection = tx.execute(_KEEP_PROJECTION, {"id": link.projection_id}).one_or_none()
    if projection is None:
        raise NotFound("there is no such projection", projection_id=link.projection_id)
    return Ends(projection.expression, (view.schema_id, projection.schema_id))


def exists(tx: Transaction, link: Link) -> bool:
    """Return whether there is such a link."""
    return tx.execute(_FIND, asdict(link)).one_or_none() is not None


def create(tx: Transaction, link: Link) -> UUID | None:
    """Make a link, whose ends the caller has locked; None if it exists."""
    row = tx.execute(_INSERT, {"id": new_uuid7(), **asdict(link)}).one_or_none()
    return None if row is None else row.id


def list_of_projection(tx: Transaction, projection_id: UUID, most: int) -> list[tuple[UUID, Link]]:
    """The links through a projection with their ids, in the order of locks; at most so many."""
    return _ordered(tx, _OF_PROJECTION, {"projection": projection_id, "most": most})


def list_typed(tx: Transaction, dataset_ids: Sequence[UUID], most: int) -> list[tuple[UUID, Link]]:
    """The checked links of datasets with their ids, in the order of locks; at most so many."""
    return _ordered(tx, _TYPED_OF_DATASETS, {"ids": list(dataset_ids), "most": most})


def _ordered(
    tx: Transaction, query: Select[Any], values: dict[str, object]
) -> list[tuple[UUID, Link]]:
    return [(row[0], Link(*row[1:])) for row in tx.execute(query, values)]


def remove(tx: Transaction, link: Link) -> bool:
    """Delete a link; False if there is none."""
    return tx.execute(_DELETE, asdict(link)).rowcount > 0


def remove_of_dataset(tx: Transaction, dataset_id: UUID) -> None:
    """Delete all links of a dataset."""
    tx.execute(_DELETE_OF_DATASET, {"dataset": dataset_id})


def list_page(
    tx: Transaction, window: keyset.Window, link_filter: LinkFilter
) -> keyset.Page[ListedLink]:
    """One page of the links that match all filters."""
    query = _LISTED
    for name, value in asdict(link_filter).items():
        if value is not None:
            query = query.where(_links.c[name] == value)
    return keyset.read_rows(tx, query, window, _BY_IDS, ListedLink)


def list_sources(tx: Transaction, window: keyset.Window) -> keyset.Page[Source]:
    """One page of all views with the links that they read. Raises ReplyTooLarge for a huge view."""
    page = keyset.read(tx, _SOURCES, window)
    if page.size_bytes > window.bytes_max:
        raise ReplyTooLarge("a view reads too much for one reply", view_id=page.ids[0])
    ids: Sequence[UUID] = page.ids
    names = {row.id: row.name for row in tx.execute(_VIEW_NAMES, {"ids": list(ids)})}
    pairs: dict[UUID, list[tuple[str, str]]] = {}
    for view_id, dataset_name, expression in tx.execute(_PAIRS, {"ids": list(ids)}):
        pairs.setdefault(view_id, []).append((dataset_name, expression))
    return page.map(
        lambda source_id: Source(source_id, names[source_id], tuple(pairs.get(source_id, ())))
    )
