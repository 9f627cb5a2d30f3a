"""Failures of Postgres that only an operator can mend, and a record of those that were met."""

import re
import threading
import time
from dataclasses import dataclass
from enum import StrEnum

import psycopg

# Seconds after the last occurrence until a cause may count as mended.
QUIET_SECS = 60.0


class Cause(StrEnum):
    """The cause of a failure; the values are labels of a metric and fields of the log."""

    DISK_FULL = "disk_full"
    READ_ONLY = "read_only"
    CONNECTIONS = "connections"
    RIGHTS = "rights"

    @property
    def remedy(self) -> str:
        """The cause and what to do, for messages."""
        return _REMEDIES[self]


_REMEDIES = {
    Cause.DISK_FULL: "the disk of Postgres is full: free some space or enlarge it",
    Cause.READ_ONLY: (
        "the database is read-only: it is in recovery (connect to the primary,"
        " target_session_attrs=primary), or default_transaction_read_only is on"
    ),
    Cause.CONNECTIONS: (
        "Postgres has no connection left: raise max_connections or the limit of the role, or lower"
        " META_DATABASE_POOL"
    ),
    Cause.RIGHTS: (
        "Postgres refuses the role of META_DATABASE_URL: check its password and its rights"
    ),
}
_BY_SQLSTATE = {
    "53100": Cause.DISK_FULL,
    "25006": Cause.READ_ONLY,
    "53300": Cause.CONNECTIONS,
    "42501": Cause.RIGHTS,
    "28000": Cause.RIGHTS,
    "28P01": Cause.RIGHTS,
}
# libpq gives no SQLSTATE for a connection that is refused. The last one is PgBouncer's.
_BY_TEXT = (
    (
        re.compile(
            r"too many clients already|connection slots are reserved|too many connections for"
            r"|no more connections allowed"
        ),
        Cause.CONNECTIONS,
    ),
    (
        re.compile(
            r"password authentication failed|no password supplied"
            r"|no pg_hba\.conf entry|pg_hba\.conf rejects"
            r"|permission denied for database|is not permitted to log in"
            r"|(?:role|database) \"[^\"]*\" does not exist"
        ),
        Cause.RIGHTS,
    ),
)


def is_of_policy(error: BaseException | None) -> bool:
    """True for a row that row-level security hides from its writer: a fault of the call alone."""
    return (
        isinstance(error, psycopg.errors.InsufficientPrivilege)
        and error.diag.source_function == "ExecWithCheckOptions"
    )


def cause_of(error: BaseException | None) -> Cause | None:
    """The cause of an error of psycopg, if an operator has to mend it."""
    sqlstate = getattr(error, "sqlstate", None)
    if is_of_policy(error):
        return None
    if sqlstate is not None:
        return _BY_SQLSTATE.get(sqlstate)
    text = str(error)
    return next((cause for pattern, cause in _BY_TEXT if pattern.search(text)), None)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The latest failure by a cause: the words of Postgres, and when it was, monotonic."""

    cause: Cause
    detail: str
    at: float


class OperatorCauses:
    """The causes that statements of this process have met; used by many threads."""

    def __init__(self, quiet_secs: float = QUIET_SECS) -> None:
        self._quiet_secs = quiet_secs
        self._lock = threading.Lock()
        self._met: dict[Cause, Occurrence] = {}

    def note(self, error: BaseException | None) -> None:
        """Remember the cause of an error of psycopg, if it is of these."""
        cause = cause_of(error)
        if cause is not None:
            # The first line names the object; parameters would come after it.
            detail = str(error).partition("\n")[0]
            with self._lock:
                self._met[cause] = Occurrence(cause, detail, time.monotonic())

    def met(self) -> list[Occurrence]:
        """The latest occurrence of each cause that is not mended."""
        with self._lock:
            return list(self._met.values())

    def forget(self, occurrence: Occurrence) -> bool:
        """Forget a mended cause; False if it was met again, or too lately to tell."""
        with self._lock:
            is_latest = self._met.get(occurrence.cause) is occurrence
            if not is_latest or time.monotonic() < occurrence.at + self._quiet_secs:
                return False
            del self._met[occurrence.cause]
            return True
