"""Snapshots of the database that a copy is made of."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from sqlalchemy import text

from meta.store.engine import database_url
from meta.store.engine.pool import Database

# The copy takes longer than any transaction of meta.
_LET_IDLE = text("SET LOCAL idle_in_transaction_session_timeout = 0")
_EXPORT = text("""
    SELECT pg_export_snapshot(), version, (SELECT version_num FROM alembic_version),
      current_setting('server_version'), pg_database_size(current_database())
    FROM meta_state
""")


@dataclass(frozen=True, slots=True)
class CopiedSnapshot:
    """An exported snapshot, valid while its transaction is open, and the state that it shows."""

    name: str
    version: int
    revision: str
    server_version: str
    database_bytes: int


@contextmanager
def exported(database: Database) -> Iterator[CopiedSnapshot]:
    """Export a snapshot that other sessions can read until the end of the block."""
    with database.read() as tx:
        tx.execute(_LET_IDLE)
        yield CopiedSnapshot(*tx.execute(_EXPORT).one())


def environment_of(database: Database) -> dict[str, str]:
    """The variables by which libpq's programs reach a database: no argument shows a password."""
    given = database_url.parameters(database.url)
    names = {
        option.keyword.decode(): option.envvar.decode()
        for option in psycopg.pq.Conninfo.get_defaults()
        if option.envvar is not None
    }
    return {names[name]: value for name, value in given.items() if name in names}
