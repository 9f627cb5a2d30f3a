"""Backups of the database whose objects are kept, and the baby segments of each."""

from sqlalchemy import BigInteger, Column, DateTime, Table, Text, Uuid, text

from meta.store.tables.columns import metadata, now

backups = Table(
    "backups",
    metadata,
    # Chosen by the caller, so that a repeated call is recognised.
    Column("id", Uuid, primary_key=True),
    Column("version", BigInteger, nullable=False),
    now("created_at"),
    Column("ends_at", DateTime(timezone=True), nullable=False),
    Column("note", Text, nullable=False, server_default=text("''")),
    # Subject of its creator; empty = none.
    Column("created_by", Text, nullable=False, server_default=text("''")),
)

backup_streams = Table(
    "backup_streams",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("backup_id", Uuid, primary_key=True),
    # Kept are the offsets behind the first of these up to the second.
    Column("after_offset", BigInteger, nullable=False),
    Column("through_offset", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
)
