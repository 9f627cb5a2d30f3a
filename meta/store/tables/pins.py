"""Leases on a dataset at a version."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, now

pins = Table(
    "pins",
    metadata,
    # Chosen by the caller, so that a repeated call is recognised.
    Column("id", Uuid, primary_key=True),
    # Name that the caller has given itself.
    Column("owner", Text, nullable=False),
    Column("dataset_key", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    now("created_at"),
    # End of the lease, and the time that no renewal moves it beyond.
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("ends_at", DateTime(timezone=True), nullable=False),
    # It holds what later versions removed as well.
    Column("holds_changes", Boolean, nullable=False, server_default=text("false")),
    # Subject of the caller that took it; empty = none.
    Column("principal", Text, nullable=False, server_default=text("''")),
    # Tombstoned segments that it holds, as of the last renewal.
    Column("held_segments", BigInteger, nullable=False),
    Column("held_bytes", BigInteger, nullable=False),
    CheckConstraint("expires_at <= ends_at", name="lease"),
)
Index("pins_dataset_index", pins.c.dataset_key, pins.c.version)
Index("pins_owner_index", pins.c.owner)
Index("pins_principal_index", pins.c.principal)
