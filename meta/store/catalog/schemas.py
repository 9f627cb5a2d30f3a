"""Schemas: named lists of typed columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, bindparam, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import (
    InvalidArgument,
    NameTaken,
    NotFound,
    RaceLost,
    SchemaFrozen,
    StillReferenced,
)
from meta.store.access import catalog_authors
from meta.store.catalog import schema_versions
from meta.store.catalog.schema_versions import SchemaColumn as SchemaColumn
from meta.store.engine import keyset
from meta.store.engine.pool import Transaction
from meta.store.tables import schema_bindings, schema_columns, schemas
from segments.ids import new_uuid7

COLUMNS_MAX = 1_000
_SHOWN_BLOCKERS = 10


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema with its columns in order."""

    id: UUID
    name: str
    columns: tuple[SchemaColumn, ...]
    # Of the columns; the first is 1.
    version: int = 1
    is_frozen: bool = False


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """Changes of UpdateSchema; an absent name stays. A frozen schema takes only a revision."""

    new_name: str | None
    added: tuple[SchemaColumn, ...]
    removed: tuple[str, ...]
    freezes: bool = False
    is_revision: bool = False
    # All names in their new order; () = it stays.
    order: tuple[str, ...] = ()


_IDS = bindparam("ids", type_=ARRAY(Uuid))
_SCHEMA = select(schemas.c.id, schemas.c.name, schemas.c.version, schemas.c.is_frozen)
_BY_ID = _SCHEMA.where(schemas.c.id == bindparam("id"))
_BY_NAME = _SCHEMA.where(schemas.c.name == bindparam("name"))
_BY_IDS = _SCHEMA.where(schemas.c.id == func.any(_IDS))
_COLUMNS = (
    select(schema_columns.c.schema_id, schema_columns.c.name, schema_columns.c.type)
    .where(schema_columns.c.schema_id == func.any(_IDS))
    .order_by(schema_columns.c.schema_id, schema_columns.c.position)
)
_LISTED: Select[*tuple[Any, ...]] = select(
    schemas.c.id,
    func.octet_length(schemas.c.name)
    + catalog_authors.size_of(schemas.c.id)
    + func.coalesce(
        select(func.sum(func.octet_length(schema_columns.c.name) + 8))
        .where(schema_columns.c.schema_id == schemas.c.id)
        .scalar_subquery(),
        0,
    ),
)
_INSERT = upsert(schemas).on_conflict_do_nothing().returning(schemas.c.id)
_INSERT_COLUMN = insert(schema_columns)
_REMOVE_COLUMNS = (
    delete(schema_columns)
    .where(schema_columns.c.schema_id == bindparam("schema"))
    .where(schema_columns.c.name == func.any(bindparam("names")))
)
_LAST_POSITION = select(func.coalesce(func.max(schema_columns.c.position), -1)).where(
    schema_columns.c.schema_id == bindparam("schema")
)
_RENAME = (
    update(schemas).where(schemas.c.id == bindparam("schema")).values(name=bindparam("new_name"))
)
_FREEZE = update(schemas).where(schemas.c.id == bindparam("schema")).values(is_frozen=True)
_UNBIND = delete(schema_bindings).where(schema_bindings.c.schema_id == bindparam("schema"))
_DELETE = delete(schemas).where(schemas.c.id == bindparam("schema"))
_BLOCKERS = text("""
    SELECT 'view ' || name FROM views WHERE schema_id = :schema
    UNION ALL SELECT 'projection ' || name FROM projections WHERE schema_id = :schema
    UNION ALL SELECT 'dataset ' || d.name FROM schema_bindings b
              JOIN datasets d ON d.id = b.dataset_id
              WHERE b.schema_id = :schema AND d.purged_at IS NULL
    ORDER BY 1 LIMIT :most
""")


def create(tx: Transaction, name: str, columns: Sequence[SchemaColumn]) -> Schema:
    """The schema of this name and content, made unless there is one. Raises NameTaken."""
    schema = Schema(new_uuid7(), name, tuple(columns))
    if tx.execute(_INSERT, {"id": schema.id, "name": name}).one_or_none() is not None:
        _add(tx, schema.id, 0, columns)
        return schema
    existing = find(tx, name)
    if existing is None:
        raise RaceLost("the schema of this name was deleted meanwhile")
    if existing.columns != schema.columns:
        raise NameTaken("another schema has this name", schema_id=existing.id)
    return existing


def find(tx: Transaction, identifier: UUID | str) -> Schema | None:
    """The schema with this id or, as text, this name."""
    return _found(tx, identifier, _BY_ID, _BY_NAME)


def get(tx: Transaction, identifier: UUID | str) -> Schema:
    """Like `find`; raises NotFound."""
    schema = find(tx, identifier)
    if schema is None:
        raise NotFound("there is no such schema", schema=identifier)
    return schema


def keep(tx: Transaction, schema_id: UUID | None) -> None:
    """Lock a schema that a new row will refer to. Raises NotFound."""
    if schema_id is None:
        return
    statement = _BY_ID.with_for_update(read=True, key_share=True)
    if tx.execute(statement, {"id": schema_id}).one_or_none() is None:
        raise NotFound("there is no such schema", schema_id=schema_id)


def list_page(tx: Transaction, window: keyset.Window) -> keyset.Page[Schema]:
    """One page of all schemas."""
    page = keyset.read(tx, _LISTED, window, {})
    columns = _columns(tx, page.ids)
    rows = {row.id: row for row in tx.execute(_BY_IDS, {"ids": list(page.ids)})}
    return page.map(lambda schema_id: _schema(rows[schema_id], columns.get(schema_id, ())))


def lock(tx: Transaction, identifier: UUID | str) -> Schema:
    """Keep a schema as it is until the commit. Raises NotFound."""
    schema = _lock(tx, identifier)
    if schema is None:
        raise NotFound("there is no such schema", schema=identifier)
    return schema


def is_in_effect(schema: Schema, changes: SchemaChange) -> bool:
    """True if a schema is as it would be after these changes, whatever else was changed."""
    return (
        changes.new_name in (None, schema.name)
        and set(changes.added) <= set(schema.columns)
        and {column.name for column in schema.columns}.isdisjoint(changes.removed)
        and (schema.is_frozen or not changes.freezes)
        and changes.order in ((), tuple(column.name for column in schema.columns))
    )


def change(tx: Transaction, identifier: UUID | str, changes: SchemaChange) -> Schema:
    """Rename, add and remove, all or nothing.

    Other columns are another version. Raises InvalidArgument if the changes do not fit, and
    SchemaFrozen.
    """
    schema = lock(tx, identifier)
    if schema.is_frozen and not changes.is_revision and not is_in_effect(schema, changes):
        raise SchemaFrozen(
            "the schema is frozen: a revision makes its next version", schema_id=schema.id
        )
    _check_change(schema, changes)
    if changes.removed or changes.added or changes.order:
        schema_versions.advance(tx, schema.id, schema.version, schema.columns)
    if changes.removed:
        tx.execute(_REMOVE_COLUMNS, {"schema": schema.id, "names": list(changes.removed)})
    if changes.added:
        last = tx.execute(_LAST_POSITION, {"schema": schema.id}).scalar_one()
        _add(tx, schema.id, last + 1, changes.added)
    if changes.order:
        _reorder(tx, get(tx, schema.id), changes.order)
    if changes.new_name is not None:
        tx.execute(_RENAME, {"schema": schema.id, "new_name": changes.new_name})
    if changes.freezes:
        tx.execute(_FREEZE, {"schema": schema.id})
    return get(tx, schema.id)


def remove(tx: Transaction, identifier: UUID | str) -> bool:
    """Delete a schema; False if there is none. Raises StillReferenced."""
    schema = _lock(tx, identifier)
    if schema is None:
        return False
    values = {"schema": schema.id, "most": _SHOWN_BLOCKERS + 1}
    blockers = list(tx.execute(_BLOCKERS, values).scalars())
    if blockers:
        shown = ", ".join(blockers[:_SHOWN_BLOCKERS])
        more = ", ..." if len(blockers) > _SHOWN_BLOCKERS else ""
        raise StillReferenced(
            "views, projections or datasets use the schema",
            schema_id=schema.id,
            blockers=shown + more,
        )
    # Of datasets that no undelete brings back.
    tx.execute(_UNBIND, {"schema": schema.id})
    tx.execute(_DELETE, {"schema": schema.id})
    return True


def _lock(tx: Transaction, identifier: UUID | str) -> Schema | None:
    return _found(tx, identifier, _BY_ID.with_for_update(), _BY_NAME.with_for_update())


def _found(tx: Transaction, identifier: UUID | str, by_id: Any, by_name: Any) -> Schema | None:
    if isinstance(identifier, UUID):
        row = tx.execute(by_id, {"id": identifier}).one_or_none()
    else:
        row = tx.execute(by_name, {"name": identifier}).one_or_none()
    if row is None:
        return None
    return _schema(row, _columns(tx, [row.id]).get(row.id, ()))


def _schema(row: Any, columns: tuple[SchemaColumn, ...]) -> Schema:
    return Schema(row.id, row.name, columns, row.version, row.is_frozen)


def _columns(tx: Transaction, ids: Sequence[UUID]) -> dict[UUID, tuple[SchemaColumn, ...]]:
    by_schema: dict[UUID, list[SchemaColumn]] = {}
    for schema_id, name, kql_type in tx.execute(_COLUMNS, {"ids": list(ids)}):
        by_schema.setdefault(schema_id, []).append(SchemaColumn(name, kql_type))
    return {schema_id: tuple(columns) for schema_id, columns in by_schema.items()}


def _add(tx: Transaction, schema_id: UUID, first: int, columns: Sequence[SchemaColumn]) -> None:
    rows = [
        {"schema_id": schema_id, "position": first + n, "name": c.name, "type": c.kql_type}
        for n, c in enumerate(columns)
    ]
    tx.execute(_INSERT_COLUMN, rows)


def _reorder(tx: Transaction, schema: Schema, order: Sequence[str]) -> None:
    """Give the columns positions behind the last one, which are never used again."""
    columns = {column.name: column for column in schema.columns}
    if set(order) != set(columns):
        odd = min(set(order) ^ set(columns))
        raise InvalidArgument(
            f"the order names other columns than the schema has: {odd!r}", field="column_order"
        )
    last = tx.execute(_LAST_POSITION, {"schema": schema.id}).scalar_one()
    tx.execute(_REMOVE_COLUMNS, {"schema": schema.id, "names": list(order)})
    _add(tx, schema.id, last + 1, [columns[name] for name in order])


def _check_change(schema: Schema, changes: SchemaChange) -> None:
    names = {column.name for column in schema.columns}
    for column in changes.added:
        if column.name in names:
            raise InvalidArgument(f"column {column.name!r} exists already", field="add_columns")
    for name in changes.removed:
        if name not in names:
            raise InvalidArgument(f"there is no column {name!r}", field="remove_columns")
    left = len(schema.columns) + len(changes.added) - len(changes.removed)
    if left < 1:
        raise InvalidArgument("no column would stay", field="remove_columns")
    if left > COLUMNS_MAX:
        raise InvalidArgument(
            f"there would be {left} columns, more than {COLUMNS_MAX}", field="add_columns"
        )
