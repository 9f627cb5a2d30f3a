"""A probe of Postgres on a connection of its own, since the pool's may all be busy."""

from contextlib import suppress

import psycopg
from sqlalchemy.engine import URL

from meta.errors import Unavailable

_CONNECT_SECS = 2


class DatabaseProbe:
    """Used by one thread at a time."""

    def __init__(self, url: URL) -> None:
        plain = url.set(drivername="postgresql")
        self._conninfo = plain.render_as_string(hide_password=False)
        self._connection: psycopg.Connection[tuple[bool]] | None = None

    def check(self) -> None:
        """Raise Unavailable unless Postgres answers as a primary."""
        try:
            is_in_recovery = self._ask()
        except psycopg.Error as error:
            self.close()
            raise Unavailable("the database is not answering") from error
        if is_in_recovery:
            # The next probe may reach a promoted server under the same address.
            self.close()
            raise Unavailable("the database server is in recovery")

    def close(self) -> None:
        """Close the connection; the next probe opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def _ask(self) -> bool:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._conninfo,
                autocommit=True,
                connect_timeout=_CONNECT_SECS,
                application_name="meta health",
            )
        row = self._connection.execute("SELECT pg_is_in_recovery()").fetchone()
        assert row is not None
        return bool(row[0])
