"""Views: named sources of rows for queries."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import NameTaken, NotFound, RaceLost
from meta.store.access import catalog_authors
from meta.store.catalog import schemas
from meta.store.engine import keyset
from meta.store.engine.pool import Transaction
from meta.store.tables import views
from segments.ids import new_uuid7


@dataclass(frozen=True, slots=True)
class View:
    """A view; None = no description, no schema."""

    id: UUID
    name: str
    description: str | None
    schema_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ViewChange:
    """Changes of UpdateView; a part that is not in `changed` stays."""

    changed: frozenset[str]
    name: str = ""
    description: str | None = None
    schema_id: UUID | None = None


_COLUMNS = (views.c.id, views.c.name, views.c.description, views.c.schema_id, views.c.created_at)
_ALL = select(*_COLUMNS)
_BY_ID = _ALL.where(views.c.id == bindparam("id"))
_LOCK = _BY_ID.with_for_update()
_BY_NAME = _ALL.where(views.c.name == bindparam("name"))
_BY_IDS = _ALL.where(views.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
_LISTED: Select[*tuple[Any, ...]] = select(
    views.c.id,
    func.octet_length(views.c.name)
    + func.coalesce(func.octet_length(views.c.description), 0)
    + catalog_authors.size_of(views.c.id),
)
_LISTED_OF_SCHEMA = _LISTED.where(views.c.schema_id == bindparam("schema"))
_INSERT = upsert(views).on_conflict_do_nothing().returning(*_COLUMNS)
_UPDATE = update(views).where(views.c.id == bindparam("view")).returning(*_COLUMNS)
_DELETE = delete(views).where(views.c.id == bindparam("view"))


def create(tx: Transaction, name: str, description: str | None, schema_id: UUID | None) -> View:
    """The view of this name and content, made unless there is one. Raises NameTaken."""
    schemas.keep(tx, schema_id)
    values = {
        "id": new_uuid7(),
        "name": name,
        "description": description,
        "schema_id": schema_id,
    }
    row = tx.execute(_INSERT, values).one_or_none()
    if row is not None:
        return View(*row)
    existing = find(tx, name)
    if existing is None:
        raise RaceLost("the view of this name was deleted meanwhile")
    if (existing.description, existing.schema_id) != (description, schema_id):
        raise NameTaken("another view has this name", view_id=existing.id)
    return existing


def find(tx: Transaction, identifier: UUID | str) -> View | None:
    """The view with this id or, as text, this name."""
    if isinstance(identifier, UUID):
        row = tx.execute(_BY_ID, {"id": identifier}).one_or_none()
    else:
        row = tx.execute(_BY_NAME, {"name": identifier}).one_or_none()
    return None if row is None else View(*row)


def get(tx: Transaction, identifier: UUID | str) -> View:
    """Like `find`; raises NotFound."""
    view = find(tx, identifier)
    if view is None:
        raise NotFound("there is no such view", view=identifier)
    return view


def list_page(tx: Transaction, window: keyset.Window, schema_id: UUID | None) -> keyset.Page[View]:
    """One page of all views, or of those of a schema."""
    query = _LISTED if schema_id is None else _LISTED_OF_SCHEMA
    page = keyset.read(tx, query, window, {"schema": schema_id})
    by_id = {row.id: View(*row) for row in tx.execute(_BY_IDS, {"ids": list(page.ids)})}
    return page.map(by_id.__getitem__)


def lock(tx: Transaction, identifier: UUID | str, schema_id: UUID | None) -> View:
    """Keep a view, and its new schema, as they are until the commit. Raises NotFound."""
    schemas.keep(tx, schema_id)
    view = get(tx, identifier)
    row = tx.execute(_LOCK, {"id": view.id}).one_or_none()
    if row is None:
        raise NotFound("there is no such view", view=identifier)
    return View(*row)


def is_in_effect(view: View, changes: ViewChange) -> bool:
    """True if a view is as it would be after these changes, whatever else was changed."""
    return all(getattr(view, part) == getattr(changes, part) for part in changes.changed)


def change(tx: Transaction, identifier: UUID | str, changes: ViewChange) -> View:
    """Change the given parts. Raises NotFound, NameTaken."""
    schemas.keep(tx, changes.schema_id)
    view = get(tx, identifier)
    values = {part: getattr(changes, part) for part in changes.changed}
    if not values:
        return view
    row = tx.execute(_UPDATE.values(values), {"view": view.id}).one_or_none()
    if row is None:
        raise NotFound("there is no such view", view=identifier)
    return View(*row)


def remove(tx: Transaction, identifier: UUID | str) -> bool:
    """Delete a view and its links; False if there is none."""
    view = find(tx, identifier)
    return view is not None and tx.execute(_DELETE, {"view": view.id}).rowcount > 0
