"""Workers that asked for their configuration, and what operators have set for them."""

from sqlalchemy import Column, Index, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from meta.store.tables.columns import metadata, now

workers = Table(
    "workers",
    metadata,
    # The worker_id of its DownloadConfig.
    Column("id", Text(collation="C"), primary_key=True),
    now("first_seen_at"),
    now("last_seen_at"),
)
Index("workers_last_seen_at_index", workers.c.last_seen_at)

worker_settings = Table(
    "worker_settings",
    metadata,
    # A worker_id, or the beginning of worker_ids followed by an asterisk.
    Column("name", Text(collation="C"), primary_key=True),
    # The fields of WorkerSettings that are set.
    Column("settings", JSONB, nullable=False),
    now("updated_at"),
)
