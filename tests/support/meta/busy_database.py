"""A database whose tables or rows are locked by another session."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from sqlalchemy import text

from tests.support.meta.server import MetaServer


@contextmanager
def locked_table(database_url: str, table: str) -> Iterator[None]:
    """Hold a table as a change of the schema does."""
    statement = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table))
    with psycopg.connect(database_url) as connection:
        connection.execute(statement)
        yield


@contextmanager
def held_head(meta_server: MetaServer, stream_id: str) -> Iterator[None]:
    """Hold a stream's head, so that its commit waits by itself, behind its batch."""
    lock = text("SELECT 1 FROM stream_heads WHERE stream_id = :id FOR UPDATE")
    with meta_server.running.database.write() as tx:
        tx.execute(lock, {"id": stream_id})
        yield


def waiting_backends(database_url: str) -> int:
    """The number of sessions that wait for a lock."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
    assert row is not None
    return int(row[0])
