"""Metadata of datasets as tables of other systems: its objects, and the snapshots made of them."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from meta.store.tables.columns import metadata, now

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
    UniqueConstraint("dataset_key", "digest", name="table_objects_digest_key"),
    UniqueConstraint("object_key", name="table_objects_object_key_key"),
)
Index("table_objects_examined_index", table_objects.c.examined_at)

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
Index("table_snapshots_examined_index", table_snapshots.c.examined_at)
