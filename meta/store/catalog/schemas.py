"""Schemas: named lists of typed columns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    bindparam,
    delete,
    func,
    insert,
    select,
)

from meta.errors import InvalidArgument, SchemaFrozen
from meta.store.catalog import schema_versions, shown_names
from meta.store.catalog.link_columns import BLOCKERS_SHOWN, refuse_blocked
from meta.store.catalog.named_entries import Content, NamedEntries, NamedEntry
from meta.store.catalog.schema_versions import SchemaColumn as SchemaColumn
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.tables.catalog import schema_bindings, schema_columns, schemas

COLUMNS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Schema(NamedEntry):
    """A schema with its columns in order."""

    columns: tuple[SchemaColumn, ...]
    # Version of the columns; the first is 1.
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
    # New names of columns.
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema_id(self) -> None:
        """A schema has no schema."""
        return None

    def is_of(self, schema: Schema) -> bool:
        """True if a schema is as it would be after these changes, whatever else was changed."""
        names = {column.name for column in schema.columns}
        return (
            self.new_name in (None, schema.name)
            and set(self.added) <= set(schema.columns)
            and names.isdisjoint((*self.removed, *self.renamed))
            and names.issuperset(self.renamed.values())
            and (schema.is_frozen or not self.freezes)
            and self.order in ((), tuple(column.name for column in schema.columns))
        )


_NAMES, _TYPES = (
    func.array(
        select(column)
        .where(schema_columns.c.schema_id == schemas.c.id)
        .order_by(schema_columns.c.position)
        .scalar_subquery(),
        type_=ARRAY(column.type),
    )
    for column in (schema_columns.c.name, schema_columns.c.type)
)
_COLUMNS_BYTES = func.coalesce(
    select(func.sum(func.octet_length(schema_columns.c.name) + 8))
    .where(schema_columns.c.schema_id == schemas.c.id)
    .scalar_subquery(),
    0,
)
_ADD_COLUMN = insert(schema_columns)
_REMOVE_COLUMNS = delete(schema_columns).where(schema_columns.c.schema_id == bindparam("schema"))
_UNBIND = delete(schema_bindings).where(schema_bindings.c.schema_id == bindparam("schema"))
_BLOCKERS = scope.statement(f"""
    SELECT 'view ' || name FROM views WHERE schema_id = :schema
    UNION ALL SELECT 'projection ' || name FROM projections WHERE schema_id = :schema
    UNION ALL SELECT 'dataset ' || {shown_names.of("d")} FROM schema_bindings b
              JOIN datasets d ON d.id = b.dataset_id
              WHERE b.schema_id = :schema AND d.purged_at IS NULL
    ORDER BY 1 LIMIT :most
""")  # noqa: S608


class Schemas(NamedEntries[Schema]):
    """All schemas. Their columns are rows of another table, and a change makes a version."""

    def change(self, tx: Transaction, schema: Schema, changes: SchemaChange) -> Schema:
        """Change a locked schema, all or nothing; other columns are another version.

        Raises InvalidArgument if the changes do not fit, SchemaFrozen, NameTaken.
        """
        if schema.is_frozen and not changes.is_revision and not changes.is_of(schema):
            raise SchemaFrozen(
                "the schema is frozen: a revision makes its next version", schema_id=schema.id
            )
        columns = _changed_columns(schema, changes)
        if changes.removed or changes.added or changes.order or changes.renamed:
            schema_versions.advance(tx, schema.id, schema.version, schema.columns, changes.renamed)
            tx.execute(_REMOVE_COLUMNS, {"schema": schema.id})
            _add(tx, schema.id, columns)
        name = schema.name if changes.new_name is None else changes.new_name
        values = {"name": name, "is_frozen": schema.is_frozen or changes.freezes}
        tx.execute(self._update.values(values), {"target": schema.id})
        return self.get(tx, schema.id)

    def remove(self, tx: Transaction, identifier: UUID | str) -> bool:
        """Delete a schema; False if there is none. Raises StillReferenced."""
        if self.find(tx, identifier) is None:
            return False
        schema = self.lock(tx, identifier)
        values = {"schema": schema.id, "most": BLOCKERS_SHOWN + 1}
        refuse_blocked(
            tx.execute(_BLOCKERS, values).scalars().all(),
            "views, projections or datasets use the schema",
            schema_id=schema.id,
        )
        # These datasets can no longer be undeleted.
        tx.execute(_UNBIND, {"schema": schema.id})
        return super().remove(tx, schema.id)

    def _store(self, tx: Transaction, entry_id: UUID, content: Content) -> bool:
        name, columns = content.values["name"], content.values["columns"]
        assert isinstance(columns, tuple)
        is_new = super()._store(tx, entry_id, Content({"name": name}))
        if is_new:
            _add(tx, entry_id, columns)
        return is_new


def _schema(
    schema_id: UUID,
    name: str,
    version: int,
    is_frozen: bool,
    names: Sequence[str],
    types: Sequence[int],
) -> Schema:
    return Schema(schema_id, name, tuple(map(SchemaColumn, names, types)), version, is_frozen)


SCHEMAS = Schemas(
    "schema",
    schemas,
    _schema,
    (schemas.c.id, schemas.c.name, schemas.c.version, schemas.c.is_frozen, _NAMES, _TYPES),
    _COLUMNS_BYTES,
)


def _add(tx: Transaction, schema_id: UUID, columns: Sequence[SchemaColumn]) -> None:
    rows = [
        {"schema_id": schema_id, "position": n, "name": c.name, "type": c.kql_type}
        for n, c in enumerate(columns)
    ]
    tx.execute(_ADD_COLUMN, rows)


def _changed_columns(schema: Schema, changes: SchemaChange) -> list[SchemaColumn]:
    """The columns after the changes, in order. Raises InvalidArgument."""
    names = {column.name for column in schema.columns}
    for column in changes.added:
        if column.name in names:
            raise InvalidArgument(f"column {column.name!r} exists already", field="add_columns")
    for name in changes.removed:
        if name not in names:
            raise InvalidArgument(f"there is no column {name!r}", field="remove_columns")
    _check_new_names(names, changes)
    kept = [
        replace(column, name=changes.renamed.get(column.name, column.name))
        for column in schema.columns
        if column.name not in changes.removed
    ]
    columns = [*kept, *changes.added]
    if not columns:
        raise InvalidArgument("no column would stay", field="remove_columns")
    if len(columns) > COLUMNS_MAX:
        raise InvalidArgument(
            f"there would be {len(columns)} columns, more than {COLUMNS_MAX}", field="add_columns"
        )
    if not changes.order:
        return columns
    by_name = {column.name: column for column in columns}
    if set(changes.order) != set(by_name):
        odd = min(set(changes.order) ^ set(by_name))
        raise InvalidArgument(
            f"the order names other columns than the schema has: {odd!r}", field="column_order"
        )
    return [by_name[name] for name in changes.order]


def _check_new_names(names: Collection[str], changes: SchemaChange) -> None:
    """Refuse to rename a column that goes, and the name of another. Raises InvalidArgument."""
    for name, new_name in changes.renamed.items():
        if name not in names or name in changes.removed:
            raise InvalidArgument(f"no column {name!r} stays", field="rename_columns")
        if new_name in names or any(column.name == new_name for column in changes.added):
            raise InvalidArgument(f"column {new_name!r} exists already", field="rename_columns")
