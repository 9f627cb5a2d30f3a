"""Locks of resources."""

from sqlalchemy import Boolean, Column, LargeBinary, SmallInteger, Table, Text, Uuid, text

from meta.store.tables.columns import metadata, moment, now

# A lock stays as a row for a time after its end. Of those without one a resource has one at most.
resource_locks = Table(
    "resource_locks",
    metadata,
    Column("id", Uuid, primary_key=True),
    # A ResourceKind.
    Column("kind", SmallInteger, nullable=False),
    # No foreign key: after a restore the database may not know the resource yet.
    Column("resource_id", Uuid, nullable=False),
    # SHA-256 of its token.
    Column("token_digest", LargeBinary, nullable=False),
    Column("reason", Text, nullable=False),
    Column("locked_by", Text, nullable=False),
    now("locked_at"),
    # It ends by itself then; null = never.
    moment("ends_at"),
    # It was ended or broken, or its end was noticed.
    moment("ended_at"),
    # Its dataset is not known after a restore: nothing is deleted until it is back.
    Column("is_awaited", Boolean, nullable=False, server_default=text("false")),
)
