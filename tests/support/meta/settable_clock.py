"""A database whose clock a test sets: functions of a schema that hide those of Postgres."""

from datetime import UTC, datetime, timedelta

import psycopg

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
