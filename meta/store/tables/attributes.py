"""Hidden columns over attributes."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)

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
    UniqueConstraint("dataset_id", "attribute", "type"),
)
