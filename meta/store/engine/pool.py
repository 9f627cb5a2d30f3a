"""The pool of connections to Postgres."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import (
    Connection,
    Engine,
    ExceptionContext,
    QueuePool,
    create_engine,
    event,
    text,
)

from meta import access
from meta.errors import Unavailable
from meta.store.engine import caller_role, connecting, continuity, database_url, scope, timelines
from meta.store.engine.call_scope import cancellable
from meta.store.engine.continuity import Continuity
from meta.store.engine.driver_errors import POOL_SECS, STALE_PLAN_SQLSTATE, translated
from meta.store.engine.driver_errors import Conflict as Conflict
from meta.store.engine.driver_errors import DrawRefused as DrawRefused
from meta.store.engine.driver_errors import OptionsRefused as OptionsRefused
from meta.store.engine.driver_errors import TimelineChanged as TimelineChanged
from meta.store.engine.operator_causes import Cause, OperatorCauses, cause_of

Transaction: TypeAlias = Connection

STATEMENTS_MAX = 1000
NO_SESSION = (
    f"Postgres took a connection and did not answer within {connecting.ANSWER_SECS:g} s: it hangs,"
    " or a pooler such as PgBouncer has no server connection left (default_pool_size)"
)
# Group commits of one kind in a process that run side by side.
COMMIT_BATCHES_MAX = 2


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """Settings of Postgres; times in milliseconds.

    `commit_batches` is how many group commits of one kind run side by side. `caller_role` is the
    role of transactions of tenants' callers; "" = they have that of the connection.
    """

    url: str
    caller_role: str = ""
    pool_size: int = 16
    lock_timeout_ms: int = 5_000
    statement_timeout_ms: int = 30_000
    commit_batches: int = 1


class Database:
    """A pool of connections, each checked for a failover before its first use."""

    def __init__(self, settings: DatabaseSettings) -> None:
        self.url = database_url.normalized(settings.url)
        self.continuity = Continuity()
        self.causes = OperatorCauses()
        self.pool_size = settings.pool_size
        self.caller_role = settings.caller_role
        options = (
            f"-c lock_timeout={settings.lock_timeout_ms}"
            f" -c statement_timeout={settings.statement_timeout_ms}"
            " -c timezone=UTC -c idle_in_transaction_session_timeout=60000"
            # Every index here is read in its order up to a limit. A bitmap would read a whole
            # stretch first, and the planner cannot know how long one is.
            " -c enable_bitmapscan=off -c jit=off"
        )
        self._writer = create_engine(
            # The URL is read in one way for the pool and the probe.
            "postgresql+psycopg://",
            pool_size=settings.pool_size,
            max_overflow=0,
            pool_timeout=POOL_SECS,
            # Few connections stay busy, and so have their statements prepared.
            pool_use_lifo=True,
            isolation_level="READ COMMITTED",
            # Parameters hold digests and texts of clients; errors are logged.
            hide_parameters=True,
            # No column has this type, and each start would look it up.
            use_native_hstore=False,
            query_cache_size=STATEMENTS_MAX,
            connect_args=connecting.parameters(self.url, "meta", options),
        )
        self._reader = self._writer.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._single = self._writer.execution_options(isolation_level="AUTOCOMMIT")
        event.listen(self._writer, "handle_error", _replace_connections)
        event.listen(self._writer, "handle_error", self._note_error)
        event.listen(self._writer, "connect", self._check_connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A READ COMMITTED transaction, committed at the end of the block."""
        self.continuity.check_writable()
        noted: dict[Any, Any] = {}
        with translated(), self._writer.begin() as tx, cancellable(driver_connection(tx)):
            continuity.begin(tx.info)
            self.take_role(tx)
            yield tx
            noted.update(tx.info)
        self.continuity.committed(noted)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A REPEATABLE READ, READ ONLY transaction: one snapshot for all its statements."""
        with translated(), self._reader.begin() as tx, cancellable(driver_connection(tx)):
            self.take_role(tx)
            yield tx

    @contextmanager
    def single(self) -> Iterator[Transaction]:
        """A connection on which every statement is its own transaction, for no tenant's caller."""
        assert scope.tenant_key() is None, "a tenant's caller needs a transaction"
        with (
            translated(),
            self._single.connect() as connection,
            cancellable(driver_connection(connection)),
        ):
            yield connection

    def take_role(self, tx: Transaction) -> None:
        """Let Postgres enforce the caller's tenant, if it has one, until the transaction's end."""
        caller = access.current.get()
        if caller.needs_sole_tenant:
            # All that it reaches is of its tenant. With the role it would see no other.
            caller_role.require_sole(tx)
        elif caller.scope.tenant_key is not None and self.caller_role:
            caller_role.take(tx, self.caller_role, caller.scope.tenant_key)

    def _check_connection(self, connection: Any, record: Any) -> None:
        """Refuse a server in recovery; adopt the history of the server if it is not the stored one.

        After Postgres was away, the first connection compares the database with its witness, so
        that its first call meets no token that was revoked after a backup.
        """
        self.continuity.attach(record.info)
        caller_role.attach(record.info, self.caller_role)

        def execute(statement: str) -> object:
            cursor.execute(statement)
            return cursor.fetchone() if cursor.description else None

        try:
            connecting.ask(connection, "SELECT 1", connecting.ANSWER_SECS)
            with connection.cursor() as cursor:
                timelines.check(execute)
                compares = self.continuity.guard is not None
                is_compared = not compares or timelines.is_compared(execute)
            connection.commit()
        except connecting.NoAnswer as error:
            connection.close()
            raise Unavailable(NO_SESSION) from error
        except BaseException:
            connection.close()
            raise
        if not is_compared:
            self.continuity.compare()

    def _note_error(self, context: ExceptionContext) -> None:
        self.causes.note(context.original_exception)
        if context.is_disconnect:
            self.continuity.look_soon()

    def adopt_timeline(self) -> None:
        """Jump the counter if the server's history is not the stored one."""
        with access.as_server(), self.write() as tx:
            timelines.check(run_in(tx))

    @property
    def shown_url(self) -> str:
        """The URL for messages."""
        return database_url.shown(self.url)

    @property
    def engine(self) -> Engine:
        """The pool itself, for migrations and bulk loads."""
        return self._writer

    def free_connections(self) -> int:
        """Return how many connections of the pool no transaction uses now."""
        pool = self._writer.pool
        assert isinstance(pool, QueuePool)
        return self.pool_size - pool.checkedout()

    def ping(self) -> None:
        """Raise Unavailable unless the database answers."""
        with self.read() as tx:
            tx.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close every idle connection."""
        self._writer.dispose()


def driver_connection(connection: Connection) -> Any:
    """The connection of psycopg."""
    return connection.connection.dbapi_connection


def _replace_connections(context: ExceptionContext) -> None:
    """Replace the connections of the pool if every call on them would fail."""
    if is_of_connection(context.original_exception):
        context.is_disconnect = True


def is_of_connection(error: BaseException) -> bool:
    """True for an error that a new connection may not meet.

    After a change of the schema prepared statements fail; a default of read-only transactions holds
    as long as a connection.
    """
    return (
        getattr(error, "sqlstate", None) == STALE_PLAN_SQLSTATE
        or cause_of(error) is Cause.READ_ONLY
    )


def run_in(tx: Transaction) -> timelines.Execute:
    """Run plain statements in a transaction, for `timelines`."""

    def execute(statement: str) -> object:
        result = tx.exec_driver_sql(statement)
        return result.one_or_none() if result.returns_rows else None

    return execute
