"""Views and projections: named entries of the catalog that may have a schema.

Each kind is a table, whose columns have the names of its fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import ARRAY, Select, Table, Text, Uuid, bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from meta.errors import NameTaken, NotFound, RaceLost
from meta.store.access import catalog_authors
from meta.store.catalog import schemas
from meta.store.engine import keyset
from meta.store.engine.pool import Transaction
from meta.store.tables import projections, views
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


@dataclass(frozen=True, slots=True)
class Content:
    """Values of an entry by the names of its fields; a field that is absent stays as it is."""

    values: Mapping[str, str | UUID | None]

    @property
    def schema_id(self) -> UUID | None:
        """The schema that the entry shall have."""
        schema_id = self.values.get("schema_id")
        return schema_id if isinstance(schema_id, UUID) else None

    def is_of(self, entry: NamedEntry) -> bool:
        """True if an entry has all these values, whatever else it has."""
        return all(getattr(entry, field) == value for field, value in self.values.items())


class NamedEntries(Generic[Entry]):
    """All entries of one kind; `noun` names it in refusals."""

    def __init__(self, noun: str, table: Table, kind: type[Entry]) -> None:
        self._noun, self._kind = noun, kind
        columns = [table.c[field.name] for field in fields(kind)]
        every = select(*columns)
        self._by_id = every.where(table.c.id == bindparam("target"))
        self._lock = self._by_id.with_for_update()
        self._by_name = every.where(table.c.name == bindparam("target"))
        self._by_ids = every.where(table.c.id == func.any(bindparam("ids", type_=ARRAY(Uuid))))
        text_bytes = catalog_authors.size_of(table.c.id)
        for column in columns:
            if isinstance(column.type, Text):
                text_bytes += func.coalesce(func.octet_length(column), 0)
        self._listed: Select[*tuple[Any, ...]] = select(table.c.id, text_bytes)
        self._listed_of_schema = self._listed.where(table.c.schema_id == bindparam("schema"))
        self._insert = upsert(table).on_conflict_do_nothing().returning(*columns)
        is_target = table.c.id == bindparam("target")
        self._update = update(table).where(is_target).returning(*columns)
        self._delete = delete(table).where(is_target)

    def create(self, tx: Transaction, content: Content) -> Entry:
        """The entry of this name and content, made unless there is one. Raises NameTaken."""
        schemas.keep(tx, content.schema_id)
        row = tx.execute(self._insert, {"id": new_uuid7(), **content.values}).one_or_none()
        if row is not None:
            return self._kind(*row)
        existing = self.find(tx, str(content.values["name"]))
        if existing is None:
            raise RaceLost(f"the {self._noun} of this name was deleted meanwhile")
        if not content.is_of(existing):
            raise NameTaken(
                f"another {self._noun} has this name", **{f"{self._noun}_id": existing.id}
            )
        return existing

    def find(self, tx: Transaction, identifier: UUID | str) -> Entry | None:
        """The entry with this id or, as text, this name."""
        statement = self._by_id if isinstance(identifier, UUID) else self._by_name
        row = tx.execute(statement, {"target": identifier}).one_or_none()
        return None if row is None else self._kind(*row)

    def get(self, tx: Transaction, identifier: UUID | str) -> Entry:
        """Like `find`; raises NotFound."""
        entry = self.find(tx, identifier)
        if entry is None:
            raise self._missing(identifier)
        return entry

    def list_page(
        self, tx: Transaction, window: keyset.Window, schema_id: UUID | None
    ) -> keyset.Page[Entry]:
        """One page of all entries, or of those of a schema."""
        query = self._listed if schema_id is None else self._listed_of_schema
        page = keyset.read(tx, query, window, {"schema": schema_id})
        rows = tx.execute(self._by_ids, {"ids": list(page.ids)})
        by_id = {row.id: self._kind(*row) for row in rows}
        return page.map(by_id.__getitem__)

    def lock(self, tx: Transaction, identifier: UUID | str, schema_id: UUID | None) -> Entry:
        """Keep an entry, and its new schema, as they are until the commit. Raises NotFound."""
        schemas.keep(tx, schema_id)
        entry = self.get(tx, identifier)
        row = tx.execute(self._lock, {"target": entry.id}).one_or_none()
        if row is None:
            raise self._missing(identifier)
        return self._kind(*row)

    def change(self, tx: Transaction, identifier: UUID | str, changes: Content) -> Entry:
        """Change the given fields. Raises NotFound, NameTaken."""
        schemas.keep(tx, changes.schema_id)
        entry = self.get(tx, identifier)
        if not changes.values:
            return entry
        statement = self._update.values(dict(changes.values))
        row = tx.execute(statement, {"target": entry.id}).one_or_none()
        if row is None:
            raise self._missing(identifier)
        return self._kind(*row)

    def remove(self, tx: Transaction, identifier: UUID | str) -> bool:
        """Delete an entry and its links; False if there is none."""
        entry = self.find(tx, identifier)
        return entry is not None and tx.execute(self._delete, {"target": entry.id}).rowcount > 0

    def _missing(self, identifier: UUID | str) -> NotFound:
        return NotFound(f"there is no such {self._noun}", **{self._noun: identifier})


VIEWS = NamedEntries("view", views, View)
PROJECTIONS = NamedEntries("projection", projections, Projection)
