"""Hidden columns over attributes, and the counts of records that they are chosen by."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from meta.store.tables.columns import metadata

# Hidden columns over attributes of records that a dataset has or had, kept permanently: an id that
# segments carry is never given to another column.
automatic_columns = Table(
    "automatic_columns",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("field_id", Integer, primary_key=True, autoincrement=False),
    Column("attribute", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    # New segments have it.
    Column("is_written", Boolean, nullable=False),
    # meta chose it, and no person.
    Column("is_chosen", Boolean, nullable=False, server_default=text("false")),
    UniqueConstraint("dataset_id", "attribute", "type"),
)

# Counts of a segment's records by attribute that are not in the sums yet, by the segment's id.
# Hours are counted from 1970, and counts have the form of meta.store.catalog.attribute_counts.
attribute_counts = Table(
    "attribute_counts",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), nullable=False),
    Column("hour", Integer, nullable=False),
    Column("counts", JSONB, nullable=False),
    Index("attribute_counts_dataset_id", "dataset_id"),
)

# The sums of these counts by period, each named by its first hour.
attribute_sums = Table(
    "attribute_sums",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("hour", Integer, primary_key=True, autoincrement=False),
    Column("counts", JSONB, nullable=False),
)
