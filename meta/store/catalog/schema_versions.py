"""Versions of schemas: the columns that a schema had before its current ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, insert, select, text, update

from meta.errors import NotFound, QuotaExceeded
from meta.store.engine.pool import Transaction
from meta.store.tables.catalog import schema_versions, schemas

VERSIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column; its type is a number of the contract's KqlType."""

    name: str
    kql_type: int


_ADD = insert(schema_versions)
_ADVANCE = (
    update(schemas)
    .where(schemas.c.id == bindparam("schema"))
    .values(version=bindparam("next_version"))
)
_AT = (
    select(schema_versions.c.names, schema_versions.c.types)
    .where(schema_versions.c.schema_id == bindparam("schema"))
    .where(schema_versions.c.version == bindparam("version"))
)
_RENAMED = text("""
    SELECT r.name, r.new_name FROM schema_versions v
    CROSS JOIN unnest(v.renamed, v.new_names) r (name, new_name)
    WHERE v.schema_id = :schema AND v.version >= :low AND v.version < :high ORDER BY v.version
""")


def advance(
    tx: Transaction,
    schema_id: UUID,
    version: int,
    columns: Sequence[SchemaColumn],
    renamed: Mapping[str, str],
) -> None:
    """Keep a locked schema's columns as those of its version, and begin the next one.

    Raises QuotaExceeded.
    """
    if version >= VERSIONS_MAX:
        raise QuotaExceeded(f"a schema has at most {VERSIONS_MAX} versions", limit=VERSIONS_MAX)
    values = {
        "schema_id": schema_id,
        "version": version,
        "names": [column.name for column in columns],
        "types": [column.kql_type for column in columns],
        "renamed": list(renamed) or None,
        "new_names": list(renamed.values()) or None,
    }
    tx.execute(_ADD, values)
    tx.execute(_ADVANCE, {"schema": schema_id, "next_version": version + 1})


def read(tx: Transaction, schema_id: UUID, version: int) -> tuple[SchemaColumn, ...]:
    """The columns of a version before the current one. Raises NotFound."""
    row = tx.execute(_AT, {"schema": schema_id, "version": version}).one_or_none()
    if row is None:
        raise NotFound(f"the schema has no version {version}", schema_id=schema_id)
    return tuple(map(SchemaColumn, row.names, row.types))


def new_names(tx: Transaction, schema_id: UUID, before: int, after: int) -> dict[str, str]:
    """The names at version `after` of the columns that have others at version `before`."""
    # By the names at the lower version; "" = the column was removed, and another has its name.
    names: dict[str, str] = {}
    bounds = {"low": min(before, after), "high": max(before, after)}
    for name, new_name in tx.execute(_RENAMED, {"schema": schema_id, **bounds}):
        first = next((old for old, new in names.items() if new == name), name)
        if names.get(first, name) != name:
            # The first column of this name has another one: this one was added since.
            first = ""
        names = {old: "" if new == new_name else new for old, new in names.items()}
        names[first] = new_name
    names = {old: new for old, new in names.items() if old and new}
    return names if before <= after else {new: old for old, new in names.items()}
