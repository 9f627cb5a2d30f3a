"""Bindings: the schema whose columns a dataset has as typed columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, delete, select, text
from sqlalchemy.dialects import postgresql

from meta.errors import InvalidArgument
from meta.store.catalog.schema_versions import SchemaColumn
from meta.store.engine.pool import Transaction
from meta.store.tables.catalog import schema_bindings


@dataclass(frozen=True, slots=True)
class BoundAttribute:
    """The attribute that a column reads; the scope is a number of the contract's enum."""

    column: str
    scope: int
    attribute: str


@dataclass(frozen=True, slots=True)
class Binding:
    """A schema, at a version or at its newest, and the columns that read another attribute."""

    schema_id: UUID
    version: int | None = None
    attributes: tuple[BoundAttribute, ...] = ()


_READ = select(schema_bindings).where(schema_bindings.c.dataset_id == bindparam("dataset"))
_WRITE = postgresql.insert(schema_bindings)
_WRITE = _WRITE.on_conflict_do_update(
    index_elements=["dataset_id"],
    set_={
        name: _WRITE.excluded[name]
        for name in ("schema_id", "version", "names", "scopes", "attributes")
    },
)
_REMOVE = delete(schema_bindings).where(schema_bindings.c.dataset_id == bindparam("dataset"))
_BOUND = text("""
    SELECT b.dataset_id FROM schema_bindings b JOIN datasets d ON d.id = b.dataset_id
    WHERE b.schema_id = :schema AND b.version IS NULL AND d.purged_at IS NULL
    ORDER BY b.dataset_id LIMIT :most
""")
_RENAME = text("""
    UPDATE schema_bindings SET names = array_replace(names, :name, :new_name)
    WHERE schema_id = :schema AND version IS NULL AND :name = ANY(names)
      AND NOT :new_name = ANY(names)
""")
_OTHER_TYPE = text("""
    SELECT old.name, old.type, v.version
    FROM schema_versions v CROSS JOIN unnest(v.names, v.types) old (name, type)
    JOIN unnest(cast(:names AS text[]), cast(:types AS smallint[])) new (name, type)
      ON new.name = old.name AND new.type <> old.type
    WHERE v.schema_id = :schema AND v.names && cast(:names AS text[]) AND EXISTS (
      SELECT FROM schema_bindings b JOIN datasets d ON d.id = b.dataset_id
      WHERE b.schema_id = :schema AND b.version = v.version AND d.purged_at IS NULL)
    ORDER BY v.version, old.name LIMIT 1
""")


def read(tx: Transaction, dataset_id: UUID) -> Binding | None:
    """The binding of a dataset."""
    row = tx.execute(_READ, {"dataset": dataset_id}).one_or_none()
    if row is None:
        return None
    attributes = map(BoundAttribute, row.names, row.scopes, row.attributes)
    return Binding(row.schema_id, row.version, tuple(attributes))


def write(tx: Transaction, dataset_id: UUID, binding: Binding | None) -> None:
    """Store the binding of a dataset whose row the caller holds; None = it has none."""
    if binding is None:
        tx.execute(_REMOVE, {"dataset": dataset_id})
        return
    values = {
        "dataset_id": dataset_id,
        "schema_id": binding.schema_id,
        "version": binding.version,
        "names": [attribute.column for attribute in binding.attributes],
        "scopes": [attribute.scope for attribute in binding.attributes],
        "attributes": [attribute.attribute for attribute in binding.attributes],
    }
    tx.execute(_WRITE, values)


def followers(tx: Transaction, schema_id: UUID, most: int) -> list[UUID]:
    """The first of the datasets, in order, that follow a schema's newest version."""
    return list(tx.execute(_BOUND, {"schema": schema_id, "most": most}).scalars())


def rename_columns(tx: Transaction, schema_id: UUID, new_names: Mapping[str, str]) -> None:
    """Let locked datasets that follow a schema go on reading the attributes that they chose."""
    for name, new_name in new_names.items():
        values = {"schema": schema_id, "name": name, "new_name": new_name}
        tx.execute(_RENAME, values)


def refuse_other_types(tx: Transaction, schema_id: UUID, added: Sequence[SchemaColumn]) -> None:
    """Refuse new columns that have another type at a version to which a dataset is bound.

    Raises InvalidArgument.
    """
    values = {
        "schema": schema_id,
        "names": [column.name for column in added],
        "types": [column.kql_type for column in added],
    }
    row = tx.execute(_OTHER_TYPE, values).one_or_none()
    if row is not None:
        raise InvalidArgument(
            f"{row.name} has another type at version {row.version}, to which a dataset is bound:"
            " take another name",
            field="add_columns",
        )
