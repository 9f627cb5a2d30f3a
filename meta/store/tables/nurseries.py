"""Nurseries that are alive, and the shards of streams that each of them merges."""

from sqlalchemy import Column, DateTime, ForeignKey, SmallInteger, Table, Text

from meta.store.tables.columns import metadata

nurseries = Table(
    "nurseries",
    metadata,
    # Name that the nursery has given itself, unique to its process.
    Column("id", Text, primary_key=True),
    # Its shards are free from then on.
    Column("lease_until", DateTime(timezone=True), nullable=False),
)

# A shard without a row is free.
nursery_shards = Table(
    "nursery_shards",
    metadata,
    Column("shard", SmallInteger, primary_key=True, autoincrement=False),
    Column("nursery_id", Text, ForeignKey("nurseries.id", ondelete="CASCADE"), nullable=False),
)
