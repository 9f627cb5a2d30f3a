"""The pool of connections to Postgres, and the translation of its errors."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import Format
from sqlalchemy import Connection, Engine, ExceptionContext, create_engine, event, text
from sqlalchemy.engine import ExecutionContext
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from meta.errors import (
    MetaError,
    NameTaken,
    NotFound,
    QuotaExceeded,
    RaceLost,
    StatementTimeout,
    StillReferenced,
    Unavailable,
)
from meta.store.engine import continuity, database_url, timelines
from meta.store.engine.call_scope import cancellable
from meta.store.engine.compiled_statements import CompiledStatements
from meta.store.engine.continuity import Continuity

Transaction: TypeAlias = Connection

# Serialization failure, deadlock, lock timeout, a prepared plan older than the schema: retried.
STALE_PLAN_SQLSTATE = "0A000"
# Execution option of statements whose rows are fetched in Postgres' binary form.
BINARY = "binary_rows"
RETRIED_SQLSTATES = frozenset({"40001", "40P01", "55P03", STALE_PLAN_SQLSTATE})
# Of all pools of the process.
_COMPILED = CompiledStatements()
# Group commits of one kind in a process that run side by side.
COMMIT_BATCHES_MAX = 2


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """Settings of Postgres; times in milliseconds.

    `commit_batches` is how many group commits of one kind run side by side.
    """

    url: str
    pool_size: int = 16
    lock_timeout_ms: int = 5_000
    statement_timeout_ms: int = 30_000
    commit_batches: int = 1


class Database:
    """A pool of connections, each checked for a failover before its first use."""

    def __init__(self, settings: DatabaseSettings) -> None:
        self.url = database_url.normalized(settings.url)
        self.continuity = Continuity()
        self.pool_size = settings.pool_size
        options = (
            f"-c lock_timeout={settings.lock_timeout_ms}"
            f" -c statement_timeout={settings.statement_timeout_ms}"
            " -c timezone=UTC -c idle_in_transaction_session_timeout=60000"
            # Every index here is read in its order up to a limit. A bitmap would read a whole
            # stretch first, and the planner cannot know how long one is.
            " -c enable_bitmapscan=off -c jit=off"
        )
        self._writer = create_engine(
            self.url,
            pool_size=settings.pool_size,
            max_overflow=0,
            pool_timeout=10,
            # Few connections stay busy, and so have their statements prepared.
            pool_use_lifo=True,
            isolation_level="READ COMMITTED",
            # Parameters hold digests and texts of clients; errors are logged.
            hide_parameters=True,
            # No column has this type, and each start would look it up.
            use_native_hstore=False,
            execution_options={"compiled_cache": _COMPILED},
            connect_args={"options": options, "connect_timeout": 10, "application_name": "meta"},
        )
        self._reader = self._writer.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._single = self._writer.execution_options(isolation_level="AUTOCOMMIT")
        event.listen(self._writer, "handle_error", _drop_stale_plans)
        event.listen(self._writer, "handle_error", self._note_lost_connection)
        event.listen(self._writer, "connect", self._check_connection)
        event.listen(self._writer, "before_cursor_execute", _set_format)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A READ COMMITTED transaction, committed at the end of the block."""
        self.continuity.check_writable()
        noted: dict[Any, Any] = {}
        with translated(), self._writer.begin() as tx, cancellable(_driver_connection(tx)):
            continuity.begin(tx.info)
            yield tx
            noted.update(tx.info)
        self.continuity.committed(noted)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A REPEATABLE READ, READ ONLY transaction: one snapshot for all its statements."""
        with translated(), self._reader.begin() as tx, cancellable(_driver_connection(tx)):
            yield tx

    @contextmanager
    def single(self) -> Iterator[Transaction]:
        """A connection on which every statement is a transaction of its own."""
        with (
            translated(),
            self._single.connect() as connection,
            cancellable(_driver_connection(connection)),
        ):
            yield connection

    def _check_connection(self, connection: Any, record: Any) -> None:
        """Refuse a server in recovery; adopt the history of the server if it is not the stored one.

        After Postgres was away, the first connection compares the database with its witness, so
        that its first call meets no token that was revoked after a backup.
        """
        self.continuity.attach(record.info)

        def execute(statement: str) -> object:
            cursor.execute(statement)
            return cursor.fetchone() if cursor.description else None

        try:
            with connection.cursor() as cursor:
                timelines.check(execute)
                compares = self.continuity.guard is not None
                is_compared = not compares or timelines.is_compared(execute)
            connection.commit()
        except BaseException:
            connection.close()
            raise
        if not is_compared:
            self.continuity.compare()

    def _note_lost_connection(self, context: ExceptionContext) -> None:
        if context.is_disconnect:
            self.continuity.look_soon()

    def adopt_timeline(self) -> None:
        """Jump the counter if the server's history is not the stored one."""
        with self.write() as tx:
            timelines.check(run_in(tx))

    @property
    def engine(self) -> Engine:
        """The pool itself, for migrations and bulk loads."""
        return self._writer

    def ping(self) -> None:
        """Raise Unavailable unless the database answers."""
        with self.read() as tx:
            tx.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close every idle connection."""
        self._writer.dispose()


def _driver_connection(connection: Connection) -> Any:
    return connection.connection.dbapi_connection


def _set_format(
    _connection: Connection,
    cursor: psycopg.Cursor[object],
    _statement: str,
    _values: object,
    context: ExecutionContext,
    _is_many: bool,
) -> None:
    if BINARY in context.execution_options:
        cursor.format = Format.BINARY


def _drop_stale_plans(context: ExceptionContext) -> None:
    """Replace the connections of the pool after a change of the schema.

    Their prepared statements would fail on every call.
    """
    if getattr(context.original_exception, "sqlstate", None) == STALE_PLAN_SQLSTATE:
        context.is_disconnect = True


class OptionsRefused(Exception):
    """A pooler such as PgBouncer takes no options of connections, or no transactions."""


class Conflict(Exception):
    """The transaction lost to another and may be run again. Never leaves meta."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


class TimelineChanged(Conflict):
    """The counter that was read belongs to another history: adopt the server's, then read again."""

    def __init__(self) -> None:
        super().__init__("timeline")


class DrawRefused(Conflict):
    """No version may be drawn before the database is compared with its witness."""

    def __init__(self) -> None:
        super().__init__("witness")


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into MetaError or Conflict."""
    try:
        yield
    except DBAPIError as error:
        raise translate(error) from error
    except SQLAlchemyError as error:
        # The pool gave no connection in time: overload or an outage, both worth a retry.
        raise Unavailable("no database connection in time") from error


def translate(error: DBAPIError) -> Exception:
    """Translate a database error to the error that the caller gets."""
    return translate_driver(error.orig, is_lost=error.connection_invalidated) or error


def translate_driver(cause: BaseException | None, *, is_lost: bool) -> Exception | None:
    """Translate an error of psycopg, `is_lost` if its connection is; None = not for callers."""
    sqlstate = getattr(cause, "sqlstate", None)
    if sqlstate in RETRIED_SQLSTATES:
        return Conflict(sqlstate)
    if isinstance(cause, psycopg.errors.IntegrityError):
        return _refused_by_constraint(cause)
    if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction):
        return Unavailable(timelines.IN_RECOVERY, sqlstate=sqlstate or "")
    if isinstance(cause, psycopg.errors.QueryCanceled):
        return StatementTimeout("the query took longer than META_STATEMENT_TIMEOUT_MS")
    if isinstance(cause, psycopg.errors.NumericValueOutOfRange):
        return QuotaExceeded("a total of the dataset would exceed 2^63 - 1")
    if any(refusal in str(cause) for refusal in _POOLER_REFUSALS):
        return OptionsRefused()
    if is_lost or isinstance(cause, psycopg.OperationalError):
        return Unavailable("the database is not answering", sqlstate=sqlstate or "")
    return None


# PgBouncer as it is installed, and in statement mode.
_POOLER_REFUSALS = ("unsupported startup parameter", "not allowed in statement pooling mode")
_BY_CONSTRAINT: dict[str, Callable[[str], MetaError]] = {
    "datasets_name_live_unique": lambda _: NameTaken("another dataset has this name"),
    "schemas_name_unique": lambda _: NameTaken("another schema has this name"),
    "views_name_unique": lambda _: NameTaken("another view has this name"),
    "projections_name_unique": lambda _: NameTaken("another projection has this name"),
    "ingest_tokens_name_unique": lambda _: NameTaken("another ingest token has this name"),
}


def _refused_by_constraint(cause: psycopg.errors.IntegrityError) -> MetaError:
    name = cause.diag.constraint_name or ""
    if name in _BY_CONSTRAINT:
        return _BY_CONSTRAINT[name](name)
    if isinstance(cause, psycopg.errors.ForeignKeyViolation):
        gone = re.search(r"is not present", cause.diag.message_detail or "")
        if gone:
            return NotFound("a referenced row is gone", constraint=name)
        return StillReferenced("other rows refer to it", constraint=name)
    return RaceLost("another call changed the same rows", constraint=name)


def run_in(tx: Transaction) -> timelines.Execute:
    """Run plain statements in a transaction, for `timelines`."""

    def execute(statement: str) -> object:
        result = tx.exec_driver_sql(statement)
        return result.one_or_none() if result.returns_rows else None

    return execute
