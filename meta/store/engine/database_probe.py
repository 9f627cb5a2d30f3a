"""A probe of Postgres on its own connection, since the pool's may all be busy."""

from contextlib import closing, suppress

import psycopg
from sqlalchemy.engine import URL

from meta.errors import Unavailable
from meta.store.engine import connecting
from meta.store.engine.operator_causes import Cause, OperatorCauses
from meta.store.tables import metadata

# The health of a server is known within 5 s, with the pause between two probes.
_CONNECT_SECS = 2
ANSWER_SECS = 2.0
_IS_IN_RECOVERY = "SELECT pg_is_in_recovery()"
# Each answers "t" on a new connection once its cause is mended, or fails.
_IS_MENDED = {
    # A sort or a function that exceeds its memory writes a file next to the tables, 3 MB here.
    Cause.DISK_FULL: (
        "SET work_mem = '64kB'; SET temp_tablespaces = '';"
        " SELECT count(*) > 0 FROM generate_series(1, 200000)"
    ),
    Cause.READ_ONLY: "SELECT NOT current_setting('transaction_read_only')::bool",
    Cause.CONNECTIONS: "SELECT true",
    # Those that docs/security.md grants to the role that serves.
    Cause.RIGHTS: f"""
        SELECT coalesce(bool_and(
            has_table_privilege(c.oid, 'SELECT')
            AND (c.relname = 'alembic_version' OR has_table_privilege(c.oid, 'INSERT')
                 AND has_table_privilege(c.oid, 'DELETE')
                 AND (c.relname = 'audit_log' OR has_table_privilege(c.oid, 'UPDATE')))), false)
        FROM pg_class c
        WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind IN ('r', 'p')
            AND c.relname = ANY ('{{{",".join(sorted(metadata.tables))}}}')
    """,  # noqa: S608 - the names are those of this release's tables
}


class DatabaseProbe:
    """Used by one thread at a time; errors that an operator has to mend are noted in `causes`."""

    def __init__(self, url: URL, causes: OperatorCauses) -> None:
        self._parameters = connecting.parameters(url, "meta health") | {
            "connect_timeout": str(_CONNECT_SECS)
        }
        self._causes = causes
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def check(self) -> None:
        """Raise Unavailable unless Postgres answers as a primary within `ANSWER_SECS`."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            answer = connecting.ask(self._connection, _IS_IN_RECOVERY, ANSWER_SECS)
        except psycopg.Error as error:
            self.close()
            self._causes.note(error)
            raise Unavailable("the database is not answering") from error
        if answer != "f":
            # The next probe may reach a promoted server under the same address.
            self.close()
            raise Unavailable("the database server is in recovery")

    def is_mended(self, cause: Cause) -> bool:
        """Return whether a new connection no longer meets a cause, beside the probe's own."""
        try:
            with closing(self._connect()) as connection:
                return connecting.ask(connection, _IS_MENDED[cause], ANSWER_SECS) == "t"
        except psycopg.Error:
            return False

    def close(self) -> None:
        """Close the connection; the next probe opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(**self._parameters, autocommit=True)  # type: ignore[arg-type]
