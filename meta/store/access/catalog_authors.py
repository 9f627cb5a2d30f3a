"""Authors of catalog entries, with times: written with the audit record of the change.

A row goes with the resource of its entry, which outlives schemas, views, projections and tokens by
the age of the audit log; those of deleted datasets stay as long as these do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Select,
    TextClause,
    Uuid,
    bindparam,
    func,
    select,
    text,
)

from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.server import catalog_authors

_KINDS = ("Dataset", "Schema", "View", "Projection", "IngestToken", "Group")
_CREATED = {f"Create{kind}" for kind in (*_KINDS, "AccessToken")}
_UPDATED = {f"Update{kind}" for kind in _KINDS} | {
    "BreakLock",
    "LinkViewDatasetProjection",
    "LockResource",
    "MoveDatasetToTenant",
    "RenameDataset",
    "RenameGroup",
    "SetDatasetSettings",
    "SetShardingFields",
    "UndeleteDataset",
    "UnlinkViewDatasetProjection",
    "UnlockResource",
    "UpdateIngestTokenRouting",
    "UpdateResource",
}
# An ingest token ends with its revocation.
_ENDED = {
    "DeleteDataset",
    "DeleteGroup",
    "DeleteProjection",
    "DeleteSchema",
    "DeleteView",
    "RevokeAccessToken",
    "RevokeIngestToken",
}
_UPSERT = """
    INSERT INTO catalog_authors (entry_id, {what}_by, {what}_at) VALUES (:entry, :subject, now())
    ON CONFLICT (entry_id) DO UPDATE SET {what}_by = excluded.{what}_by, {what}_at = now(){more}
"""
_NOT_DELETED = ", deleted_by = NULL, deleted_at = NULL"
# Size of the times and tags of a message.
_TIMES_BYTES = 256


@dataclass(frozen=True, slots=True)
class Authors:
    """Subjects and times; None = it did not happen, or a server of an earlier release did it."""

    created_by: str | None
    created_at: datetime | None
    updated_by: str | None
    updated_at: datetime | None
    deleted_by: str | None
    deleted_at: datetime | None


_READ: Select[*tuple[Any, ...]] = select(
    catalog_authors.c.entry_id, *row_columns(Authors, catalog_authors)
).where(catalog_authors.c.entry_id == func.any(bindparam("ids", type_=ARRAY(Uuid))))


def _statement(what: str, more: str = "") -> TextClause:
    return text(_UPSERT.format(what=what, more=more))


_STATEMENTS: dict[str, Any] = (
    dict.fromkeys(_CREATED, _statement("created"))
    | dict.fromkeys(_UPDATED, _statement("updated"))
    | dict.fromkeys(_ENDED, _statement("deleted"))
    | {"UndeleteDataset": _statement("updated", _NOT_DELETED)}
)


def note(tx: Transaction, rpc: str, entry_id: object, subject: str) -> None:
    """Keep the author of a change of an entry, if the call is one that changes entries."""
    statement = _STATEMENTS.get(rpc)
    if statement is None:
        return
    tx.execute(statement, {"entry": UUID(str(entry_id)), "subject": subject})


def read(tx: Transaction, entry_ids: Sequence[UUID]) -> dict[UUID, Authors]:
    """The authors of entries, by id; those of which nothing is known are skipped."""
    rows = tx.execute(_READ, {"ids": list(entry_ids)})
    return {row[0]: Authors(*row[1:]) for row in rows}


def size_of(entry_id: Column[UUID]) -> ColumnElement[int]:
    """The bytes of the authors in a message about the entry of a row."""
    names = (
        func.coalesce(func.octet_length(catalog_authors.c[f"{what}_by"]), 0)
        for what in ("created", "updated", "deleted")
    )
    size = sum(names, start=func.coalesce(_TIMES_BYTES, 0))
    size_of_row = select(size).where(catalog_authors.c.entry_id == entry_id).scalar_subquery()
    return func.coalesce(size_of_row, 0)
