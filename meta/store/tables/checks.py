"""Checks of objects: proven damage, and the position of the scrub."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Table, Text

from meta.store.tables.columns import metadata, now

# Objects that two fresh reads found damaged, until a read finds them sound or nothing needs them.
damaged_objects = Table(
    "damaged_objects",
    metadata,
    Column("object_key", Text(collation="C"), primary_key=True),
    Column("damage", Text, nullable=False),
    now("found_at"),
)

# One row: the janitor's.
scrub_state = Table(
    "scrub_state",
    metadata,
    Column("name", Text, primary_key=True),
    Column("checked_through", Text(collation="C"), nullable=False),
    # Objects of the pass that began at began_at.
    Column("objects", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("is_complete", Boolean, nullable=False),
    now("began_at"),
    # The janitor that scrubs, and until when no other one does.
    Column("holder", Text),
    Column("lease_until", DateTime(timezone=True)),
)
