"""Observations of the database's clock by servers."""

from sqlalchemy import CheckConstraint, Column, DateTime, SmallInteger, Table, text

from meta.store.tables.columns import metadata, moment

# One row: until when a server has seen the clock advance as its own; null before the first one.
clock_state = Table(
    "clock_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False, server_default=text("1")),
    moment("observed_at"),
    CheckConstraint("id = 1", name="one_row"),
)

# Stretches of the clock that no age counts: steps forward, and times without a server.
clock_gaps = Table(
    "clock_gaps",
    metadata,
    Column("gap_end", DateTime(timezone=True), primary_key=True),
    Column("gap_start", DateTime(timezone=True), nullable=False),
)
