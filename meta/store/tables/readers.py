"""Leases of readers on a dataset at a version, and its metadata as tables of other systems."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Identity,
    Integer,
    LargeBinary,
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
)

table_objects = Table(
    "table_objects",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("dataset_key", Integer, nullable=False),
    # SHA-256 of all that the object's content follows from.
    Column("digest", LargeBinary, nullable=False),
    Column("object_key", Text(collation="C"), nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    # meta_state.gap_end at its registration. A row of another value may come from a backup that is
    # older than the deletion of its object.
    Column("gap_end", BigInteger, nullable=False),
    now("handed_out_at"),
    # When it was last seen to be in use; it is examined after a grace without use.
    now("examined_at"),
)

table_snapshots = Table(
    "table_snapshots",
    metadata,
    Column("dataset_key", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    # The list of manifests, then the manifests: ids of table_objects.
    Column("object_ids", ARRAY(BigInteger), nullable=False),
    Column("gap_end", BigInteger, nullable=False),
    # When the version was committed, in milliseconds since 1970.
    Column("committed_at_ms", BigInteger, nullable=False),
    Column("segments", BigInteger, nullable=False),
    Column("number_of_events", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    now("handed_out_at"),
    now("examined_at"),
)
