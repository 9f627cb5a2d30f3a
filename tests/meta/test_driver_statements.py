"""Statements below SQLAlchemy: their own transactions, translated errors, no lost connection."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from meta.errors import Unavailable
from meta.store.engine.driver_statements import single_statements
from meta.store.engine.pool import Conflict, Database, DatabaseSettings

COUNTER = "UPDATE meta_state SET version = version + %(more)s RETURNING version"
END = "SELECT pg_terminate_backend(pg_backend_pid())"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    # A pool of one, so that every test sees the connection that the statements have left.
    with closing(Database(DatabaseSettings(database_url, pool_size=1, lock_timeout_ms=50))) as one:
        yield one


def version(database: Database) -> int:
    with database.read() as tx:
        return int(tx.exec_driver_sql("SELECT version FROM meta_state").scalar_one())


def is_undone(database: Database) -> bool:
    """True if a statement of a transaction that is rolled back has no effect."""
    before = version(database)
    with database.write() as tx:
        tx.exec_driver_sql(COUNTER, {"more": 7})
        tx.rollback()
    return version(database) == before


def test_a_statement_is_committed_by_itself(database: Database, database_url: str) -> None:
    with single_statements(database) as execute:
        (first,) = execute(COUNTER, {"more": 7})
        with psycopg.connect(database_url) as other:
            seen = other.execute("SELECT version FROM meta_state").fetchone()

    assert seen == first


def test_the_connection_has_transactions_again_afterwards(database: Database) -> None:
    with single_statements(database) as execute:
        execute("SELECT 1", {})

    assert is_undone(database)


def test_a_failed_statement_leaves_a_connection_that_has_transactions(database: Database) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable), single_statements(database) as execute:
        execute("SELECT FROM missing", {})

    assert is_undone(database)


def test_a_lock_that_is_not_had_in_time_is_a_conflict(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("LOCK TABLE datasets")

        with pytest.raises(Conflict), single_statements(database) as execute:
            execute("SELECT FROM datasets", {})


def test_a_lost_connection_is_unavailable_and_not_used_again(database: Database) -> None:
    with pytest.raises(Unavailable), single_statements(database) as execute:
        execute(END, {})

    with single_statements(database) as execute:
        assert list(execute("SELECT 1", {})) == [(1,)]


def test_a_server_that_cannot_be_reached_is_unavailable() -> None:
    settings = DatabaseSettings("postgresql://meta@127.0.0.1:1/none")

    with (
        closing(Database(settings)) as database,
        pytest.raises(Unavailable),
        single_statements(database),
    ):
        pass
