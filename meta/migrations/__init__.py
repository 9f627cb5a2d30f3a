"""Brings a database to this release's schema: Alembic, under an advisory lock."""

import time
from functools import cache
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from meta import release
from meta.errors import InvalidArgument, ReleaseTooLow, Unavailable
from meta.migrations import tenant_policies
from meta.process.installed import installed_release
from meta.store.checks import record_counts
from meta.store.engine.driver_errors import translate
from meta.store.engine.pool import Database
from meta.store.workers import servers

log = structlog.get_logger()
# Any number will do, as long as every release uses the same.
_LOCK_KEY = 7_310_579_241_902_114
_POLL_SECS = 0.2
# The release whose schema the first revision makes. A database of an earlier one goes through it.
FIRST_RELEASE = "0.3.0"
# Alembic's own query for its table has a dozen joins, and every start of meta would run it.
_VERSION_TABLE = text("SELECT to_regclass('alembic_version')")
_SCHEMA = text("SELECT current_schema()")
_REVISION = text("SELECT version_num FROM alembic_version")


def upgrade(database: Database, *, revision: str = "head", wait_secs: float = 300.0) -> str:
    """Apply missing revisions up to one and return the head; concurrent starts take turns.

    A database that a later release has migrated is left as it is: its schema only adds to ours. The
    lock is polled on an autocommit connection: waiting for it inside a transaction would
    deadlock with CREATE INDEX CONCURRENTLY. A database that is at the head already is not locked.
    Then the role of callers, if it is set, gets its policies and rights.
    Raises ReleaseTooLow, and InvalidArgument below the first revision, before anything is changed,
    Unavailable after `wait_secs`, InvalidArgument if the tables would not be in public, and
    ConfigError if that role is missing.
    """
    try:
        check_release(database)
        if current_revision(database) != head_revision():
            _upgrade(database, revision, wait_secs)
        if revision == "head":
            is_ours = current_revision(database) == head_revision()
            tenant_policies.prepare(database, may_change=is_ours)
    except DBAPIError as error:
        raise translate(error) from error
    return head_revision()


def check_release(database: Database) -> None:
    """Raise ReleaseTooLow if the database needs a later release than this one.

    Raises InvalidArgument if an earlier release than this one has to migrate it first.
    """
    revision = current_revision(database)
    if revision is None:
        return
    if revision < first_revision():
        raise InvalidArgument(
            f"the schema is at revision {revision}, below {first_revision()} of release"
            f" {FIRST_RELEASE}: start meta of {FIRST_RELEASE} on the database, or run its `segplane"
            " migrate`, and then this release"
        )
    refusal = release.refusal(servers.least_release(database), installed_release())
    if refusal:
        raise ReleaseTooLow(refusal)


def finish(database: Database) -> bool:
    """Let no meta of an earlier release serve a database of this schema any more.

    Then count what it did not keep. False if none may already; what was not counted yet is counted
    then as well. Raises UpgradeUnfinished while one may be running.
    """
    with database.write() as tx:
        is_raised = servers.finish(tx)
    last_key: int | None = 0
    while last_key is not None:
        with database.write() as tx:
            last_key = record_counts.count_next(tx, last_key)
    return is_raised


def _upgrade(database: Database, revision: str, wait_secs: float) -> None:
    engine = database.engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as lock:
        _acquire(lock, wait_secs)
        try:
            with database.engine.connect() as connection:
                config = _config(connection)
                current = MigrationContext.configure(connection).get_current_revision()
                if current is not None and current > head_revision():
                    log.warning("schema_of_later_release", revision=current)
                    return
                if current is None:
                    _check_schema(connection)
                # The look at the revision has begun a transaction.
                connection.rollback()
                command.upgrade(config, revision)
        finally:
            lock.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _LOCK_KEY})
    # Connections from before the tables existed have not been checked for a failover.
    database.engine.dispose()


def _check_schema(connection: Connection) -> None:
    """Refuse to create tables in another schema, which a role or a database may have as default."""
    schema = connection.execute(_SCHEMA).scalar_one()
    if schema != "public":
        raise InvalidArgument(
            f"tables would be created in {schema or 'no schema'}, not in public: name a database of"
            " its own, in which search_path begins with public for this role"
        )


@cache
def first_revision() -> str:
    """The revision that makes the whole schema of FIRST_RELEASE."""
    return ScriptDirectory.from_config(_config()).get_base() or ""


@cache
def head_revision() -> str:
    """The revision this release needs. Alembic imports every migration to tell: once a process."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def current_revision(database: Database) -> str | None:
    """The revision the database is at; None before the first migration."""
    with database.engine.connect() as connection:
        if connection.execute(_VERSION_TABLE).scalar_one() is None:
            return None
        return connection.execute(_REVISION).scalar_one_or_none()


def _acquire(lock: Connection, wait_secs: float) -> None:
    deadline = time.monotonic() + wait_secs
    while not lock.execute(
        text("SELECT pg_try_advisory_lock(:key)"), {"key": _LOCK_KEY}
    ).scalar_one():
        if time.monotonic() > deadline:
            raise Unavailable("another process has been migrating the database for too long")
        time.sleep(_POLL_SECS)


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config
