"""Limits and options of the Postgres server that a start has to check."""

from contextlib import ExitStack
from dataclasses import replace

from sqlalchemy import text

from meta.errors import Unavailable
from meta.store.engine.pool import Database, DatabaseSettings, Transaction, driver_connection

# Settings with a unit are shown in it ("5s"); pg_settings has them in milliseconds.
_OPTIONS = text(
    "SELECT name, setting FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout')"
)
_BACKEND_PID = text("SELECT pg_backend_pid()")
# Postgres 16 has reserved_connections as well; a superuser may use all of them.
_CONNECTIONS_MAX = text("""
    SELECT current_setting('max_connections')::int
         - CASE WHEN current_setting('is_superuser')::bool THEN 0
                ELSE current_setting('superuser_reserved_connections')::int
                   + coalesce(current_setting('reserved_connections', true)::int, 0) END
""")


def has_options(database: Database, settings: DatabaseSettings) -> bool:
    """True if the options of our connections have reached Postgres through what lies between."""
    with database.read() as tx:
        options = {row.name: int(row.setting) for row in tx.execute(_OPTIONS)}
    return options == {
        "lock_timeout": settings.lock_timeout_ms,
        "statement_timeout": settings.statement_timeout_ms,
    }


def has_own_sessions(database: Database) -> bool:
    """True if each of our connections is a session of Postgres.

    Behind a pooler that hands sessions from one transaction to the next, the one that a connection
    had is another's while it is idle, or it comes back to another one.
    """
    with database.single() as idle:
        before = _backend_pid(idle)
        with database.read() as busy:
            return _backend_pid(busy) != before and _backend_pid(idle) == before


def is_pooled(database: Database) -> bool:
    """True if a pooler answers in place of Postgres: it cancels by its own numbers."""
    with database.single() as connection:
        pid = _backend_pid(connection)
        return bool(driver_connection(connection).info.backend_pid != pid)


def sessions_at_once(settings: DatabaseSettings, number: int) -> int:
    """Open connections beside one another, at most a number; returns how many were answered."""
    database = Database(replace(settings, pool_size=number))
    try:
        with ExitStack() as held:
            for count in range(number):
                try:
                    held.enter_context(database.single())
                except Unavailable:
                    return count
        return number
    finally:
        database.close()


def _backend_pid(tx: Transaction) -> int:
    return int(tx.execute(_BACKEND_PID).scalar_one())


def connections_max(database: Database) -> int:
    """The connections that Postgres allows to all clients with this role."""
    with database.read() as tx:
        return int(tx.execute(_CONNECTIONS_MAX).scalar_one())
