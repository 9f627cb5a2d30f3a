"""Schemas, views and projections: entries of the catalog that have their own name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Table,
    Text,
    Uuid,
    and_,
    bindparam,
    delete,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import NameTaken, NotFound, RaceLost
from meta.store.access import catalog_authors, tenant_shares
from meta.store.catalog import one_tenant
from meta.store.engine import keyset, scope
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.catalog import projections, schemas, views
from segments.ids import new_uuid7


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """The fields that all kinds have."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class View(NamedEntry):
    """A named source of rows for queries; None = no description, no schema."""

    description: str | None
    schema_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Projection(NamedEntry):
    """A named expression that turns a dataset's records into a view's rows; None = no schema."""

    expression: str
    schema_id: UUID | None


Entry = TypeVar("Entry", bound=NamedEntry)
# Schemas, views or projections of which a tenant other than `default` has its share.
ENTRIES_MAX = 100_000
_NO_BYTES = literal(0)
_KEEP_SCHEMA = (
    select(schemas.c.id)
    .where(schemas.c.id == bindparam("id"), scope.is_reached(schemas.c.tenant_key))
    .with_for_update(read=True, key_share=True)
)


@dataclass(frozen=True, slots=True)
class Content:
    """Values of an entry by the names of its fields; a field that is absent stays as it is."""

    values: Mapping[str, object]

    @property
    def name(self) -> str:
        """The name of an entry to create."""
        return str(self.values["name"])

    @property
    def schema_id(self) -> UUID | None:
        """The schema that the entry shall have."""
        schema_id = self.values.get("schema_id")
        return schema_id if isinstance(schema_id, UUID) else None

    def is_of(self, entry: NamedEntry) -> bool:
        """True if an entry has all these values, whatever else it has."""
        return all(getattr(entry, field) == value for field, value in self.values.items())


def keep_schema(tx: Transaction, schema_id: UUID | None) -> None:
    """Lock a schema that a new row will refer to. Raises NotFound."""
    if schema_id is None:
        return
    if tx.execute(_KEEP_SCHEMA, {"id": schema_id}).one_or_none() is None:
        raise NotFound("there is no such schema", schema_id=schema_id)


class NamedEntries(Generic[Entry]):
    """All entries of one kind; `noun` names it in refusals.

    `columns` are the arguments of `make`, and `other_bytes` the texts that other tables hold.
    """

    def __init__(
        self,
        noun: str,
        table: Table,
        make: Callable[..., Entry],
        columns: Sequence[ColumnElement[Any]],
        other_bytes: ColumnElement[int] = _NO_BYTES,
    ) -> None:
        self.noun, self._table, self._make = noun, table, make
        every = select(*columns)
        is_reached = scope.is_reached(table.c.tenant_key)
        is_target = and_(table.c.id == bindparam("target"), is_reached)
        self._by_id = every.where(is_target)
        is_named = table.c.tenant_key == scope.NAMING_TENANT
        self._by_name = every.where(is_named, table.c.name == bindparam("target"))
        is_among = table.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid)))
        self._by_ids = every.where(is_among, is_reached)
        self._lock = select(table.c.id).where(is_target).with_for_update()
        text_bytes = catalog_authors.size_of(table.c.id) + other_bytes
        for column in columns:
            if isinstance(column.type, Text):
                text_bytes += func.coalesce(func.octet_length(column), 0)
        self._listed: Select[*tuple[Any, ...]] = select(table.c.id, text_bytes).where(is_named)
        self._insert = upsert(table).on_conflict_do_nothing().returning(table.c.id)
        self._update = update(table).where(is_target)
        self._delete = delete(table).where(is_target)

    def create(self, tx: Transaction, content: Content) -> Entry:
        """The entry of this name and content, made unless there is one. Raises NameTaken."""
        keep_schema(tx, content.schema_id)
        entry_id = new_uuid7()
        if self._store(tx, entry_id, content):
            one_tenant.require(tx, (entry_id, content.schema_id))
            tenant_shares.check(tx, f"{self.noun}s", ENTRIES_MAX)
            return self.get(tx, entry_id)
        existing = self.find(tx, content.name)
        if existing is None:
            raise RaceLost(f"the {self.noun} of this name was deleted meanwhile")
        if not content.is_of(existing):
            raise NameTaken(
                f"another {self.noun} has this name", **{f"{self.noun}_id": existing.id}
            )
        return existing

    def find(self, tx: Transaction, identifier: UUID | str) -> Entry | None:
        """The entry with this id or, as text, this name."""
        statement = self._by_id if isinstance(identifier, UUID) else self._by_name
        row = tx.execute(statement, {"target": identifier}).one_or_none()
        return None if row is None else self._make(*row)

    def get(self, tx: Transaction, identifier: UUID | str) -> Entry:
        """Like `find`; raises NotFound."""
        entry = self.find(tx, identifier)
        if entry is None:
            raise NotFound(f"there is no such {self.noun}", **{self.noun: identifier})
        return entry

    def list_page(
        self, tx: Transaction, window: keyset.Window, schema_id: UUID | None = None
    ) -> keyset.Page[Entry]:
        """One page of all entries, or of those of a schema."""
        query = self._listed
        if schema_id is not None:
            query = query.where(self._table.c.schema_id == schema_id)
        return keyset.read_rows(tx, query, window, self._by_ids, self._make)

    def lock(self, tx: Transaction, identifier: UUID | str, schema_id: UUID | None = None) -> Entry:
        """Keep an entry, and its new schema, as they are until the commit. Raises NotFound."""
        keep_schema(tx, schema_id)
        entry_id = self.get(tx, identifier).id
        one_tenant.require(tx, (entry_id, schema_id))
        tx.execute(self._lock, {"target": entry_id})
        # A statement that waited for the lock may have read other tables before.
        return self.get(tx, entry_id)

    def remove(self, tx: Transaction, identifier: UUID | str) -> bool:
        """Delete an entry and its links; False if there is none."""
        entry = self.find(tx, identifier)
        return entry is not None and tx.execute(self._delete, {"target": entry.id}).rowcount > 0

    def _store(self, tx: Transaction, entry_id: UUID, content: Content) -> bool:
        """Write a new entry; False if its name is taken."""
        values = {"id": entry_id, "tenant_key": scope.naming_key(), **content.values}
        return tx.execute(self._insert, values).rowcount > 0


class EntriesWithSchema(NamedEntries[Entry]):
    """Views or projections: a change replaces values of their row."""

    def change(self, tx: Transaction, entry: Entry, changes: Content) -> Entry:
        """Change the given fields of an entry, locked with its schema. Raises NameTaken."""
        if changes.values:
            tx.execute(self._update.values(dict(changes.values)), {"target": entry.id})
        return self.get(tx, entry.id)


VIEWS = EntriesWithSchema("view", views, View, row_columns(View, views))
PROJECTIONS = EntriesWithSchema(
    "projection", projections, Projection, row_columns(Projection, projections)
)
