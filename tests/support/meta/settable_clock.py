"""A database whose clock a test sets: functions of a schema that hide those of Postgres."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg
from sqlalchemy import text

from meta import config
from meta.commits.transactions import Transactions
from meta.store.engine.pool import Database
from meta.store.versions.clock import ago
from meta.watches.clock_watch import ClockWatch
from tests.support.clock import SettableClock

_CREATE = """
CREATE SCHEMA clock;
CREATE TABLE clock.time (now timestamptz NOT NULL);
INSERT INTO clock.time VALUES ('2030-01-01 00:00:00+00');
GRANT USAGE ON SCHEMA clock TO PUBLIC;
GRANT SELECT ON clock.time TO PUBLIC;
CREATE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT now FROM clock.time';
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
    AS 'SELECT now FROM clock.time';
CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT now FROM clock.time';
"""
START = datetime(2030, 1, 1, tzinfo=UTC)
_IS_OLDER = text(f"SELECT :at < {ago(':age')}, :at < meta_ago(:age)")


class SettableDatabaseClock:
    """The clock of one database; connections made from now on have it. `now` is what it shows."""

    def __init__(self, database_url: str) -> None:
        self._connection = psycopg.connect(database_url, autocommit=True)
        self._connection.execute(_CREATE)
        name = psycopg.sql.Identifier(self._connection.info.dbname)
        path = psycopg.sql.SQL("ALTER DATABASE {} SET search_path = clock, pg_catalog, public")
        self._connection.execute(path.format(name))
        self.now = START

    def advance(self, secs: float) -> None:
        """Let the clock show a time that is so much later, or earlier if it is negative."""
        self.now += timedelta(seconds=secs)
        self._connection.execute("UPDATE clock.time SET now = %s", (self.now,))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@dataclass
class World:
    """A database with its clock, true time, and one server that observes."""

    clock: SettableDatabaseClock
    transactions: Transactions
    true_time: SettableClock
    watch: ClockWatch

    def restart(self) -> None:
        """Start another server, which remembers nothing."""
        self.watch = ClockWatch(self.transactions, self.true_time)
        self.watch.observe()

    def let_pass(self, secs: float) -> None:
        """Let time pass, observed at its end."""
        self.true_time.now += secs
        self.clock.advance(secs)
        self.watch.observe()

    def step(self, secs: float) -> None:
        """Step the clock alone, and observe that."""
        self.clock.advance(secs)
        self.watch.observe()

    def is_older(self, stamp: datetime, age_secs: float) -> bool:
        """Whether something stamped then is older by the statements; both forms agree."""
        values = {"at": stamp, "age": age_secs}
        with self.transactions.database.read() as tx:
            quick, exact = tx.execute(_IS_OLDER, values).one()
        assert quick == exact
        return bool(quick)


@contextmanager
def observed_world(settings: config.Settings, database_url: str) -> Iterator[World]:
    """A world over a database, which one server observes."""
    clock = SettableDatabaseClock(database_url)
    database = Database(settings.database)
    transactions, true_time = Transactions(database), SettableClock()
    made = World(clock, transactions, true_time, ClockWatch(transactions, true_time))
    made.watch.observe()
    yield made
    database.close()
    clock.close()
