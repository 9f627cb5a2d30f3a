"""Projections: named expressions that turn a dataset's records into a view's rows."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import NameTaken, NotFound, RaceLost
from meta.store.access import catalog_authors
from meta.store.catalog import schemas
from meta.store.engine import keyset
from meta.store.engine.pool import Transaction
from meta.store.tables import projections
from segments.ids import new_uuid7


@dataclass(frozen=True, slots=True)
class Projection:
    """A projection; None = no schema."""

    id: UUID
    name: str
    expression: str
    schema_id: UUID | None


@dataclass(frozen=True, slots=True)
class ProjectionChange:
    """Changes of UpdateProjection; a part that is not in `changed` stays."""

    changed: frozenset[str]
    name: str = ""
    projection: str = ""
    schema_id: UUID | None = None


_COLUMNS = (
    projections.c.id,
    projections.c.name,
    projections.c.projection,
    projections.c.schema_id,
)
_ALL = select(*_COLUMNS)
_BY_ID = _ALL.where(projections.c.id == bindparam("id"))
_LOCK = _BY_ID.with_for_update()
_BY_NAME = _ALL.where(projections.c.name == bindparam("name"))
_BY_IDS = _ALL.where(projections.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_LISTED: Select[*tuple[Any, ...]] = select(
    projections.c.id,
    func.octet_length(projections.c.name)
    + func.octet_length(projections.c.projection)
    + catalog_authors.size_of(projections.c.id),
)
_LISTED_OF_SCHEMA = _LISTED.where(projections.c.schema_id == bindparam("schema"))
_INSERT = upsert(projections).on_conflict_do_nothing().returning(*_COLUMNS)
_UPDATE = update(projections).where(projections.c.id == bindparam("target")).returning(*_COLUMNS)
_DELETE = delete(projections).where(projections.c.id == bindparam("target"))


def create(tx: Transaction, name: str, expression: str, schema_id: UUID | None) -> Projection:
    """The projection of this name and content, made unless there is one. Raises NameTaken."""
    schemas.keep(tx, schema_id)
    values = {
        "id": new_uuid7(),
        "name": name,
        "projection": expression,
        "schema_id": schema_id,
    }
    row = tx.execute(_INSERT, values).one_or_none()
    if row is not None:
        return Projection(*row)
    existing = find(tx, name)
    if existing is None:
        raise RaceLost("the projection of this name was deleted meanwhile")
    if (existing.expression, existing.schema_id) != (expression, schema_id):
        raise NameTaken("another projection has this name", projection_id=existing.id)
    return existing


def find(tx: Transaction, identifier: UUID | str) -> Projection | None:
    """The projection with this id or, as text, this name."""
    if isinstance(identifier, UUID):
        row = tx.execute(_BY_ID, {"id": identifier}).one_or_none()
    else:
        row = tx.execute(_BY_NAME, {"name": identifier}).one_or_none()
    return None if row is None else Projection(*row)


def get(tx: Transaction, identifier: UUID | str) -> Projection:
    """Like `find`; raises NotFound."""
    projection = find(tx, identifier)
    if projection is None:
        raise NotFound("there is no such projection", projection=identifier)
    return projection


def list_page(
    tx: Transaction, window: keyset.Window, schema_id: UUID | None
) -> keyset.Page[Projection]:
    """One page of all projections, or of those of a schema."""
    query = _LISTED if schema_id is None else _LISTED_OF_SCHEMA
    page = keyset.read(tx, query, window, {"schema": schema_id})
    by_id = {row.id: Projection(*row) for row in tx.execute(_BY_IDS, {"ids": list(page.ids)})}
    return page.map(by_id.__getitem__)


def lock(tx: Transaction, identifier: UUID | str, schema_id: UUID | None) -> Projection:
    """Keep a projection, and its new schema, as they are until the commit. Raises NotFound."""
    schemas.keep(tx, schema_id)
    projection = get(tx, identifier)
    row = tx.execute(_LOCK, {"id": projection.id}).one_or_none()
    if row is None:
        raise NotFound("there is no such projection", projection=identifier)
    return Projection(*row)


def is_in_effect(projection: Projection, changes: ProjectionChange) -> bool:
    """True if a projection is as it would be after these changes, whatever else was changed."""
    current = {
        "name": projection.name,
        "projection": projection.expression,
        "schema_id": projection.schema_id,
    }
    return all(current[part] == getattr(changes, part) for part in changes.changed)


def change(tx: Transaction, identifier: UUID | str, changes: ProjectionChange) -> Projection:
    """Change the given parts. Raises NotFound, NameTaken."""
    schemas.keep(tx, changes.schema_id)
    projection = get(tx, identifier)
    values = {part: getattr(changes, part) for part in changes.changed}
    if not values:
        return projection
    row = tx.execute(_UPDATE.values(values), {"target": projection.id}).one_or_none()
    if row is None:
        raise NotFound("there is no such projection", projection=identifier)
    return Projection(*row)


def remove(tx: Transaction, identifier: UUID | str) -> bool:
    """Delete a projection and its links; False if there is none."""
    projection = find(tx, identifier)
    if projection is None:
        return False
    return tx.execute(_DELETE, {"target": projection.id}).rowcount > 0
