"""The database at the start of a server: reachable, migrated, and fit for the settings."""

import time
from dataclasses import replace

import structlog

from meta import migrations
from meta.config import Settings
from meta.errors import InvalidArgument, ReleaseTooLow, Unavailable
from meta.migrations import tenant_policies
from meta.process.exits import ConfigError
from meta.store.engine import server_limits
from meta.store.engine.pool import Database, OptionsRefused

log = structlog.get_logger()
POLL_SECS = 0.5
# In addition to its pool, each process probes Postgres on its own connection.
CONNECTIONS_BESIDE_POOL = 1


def open_database(settings: Settings) -> Database:
    """Connect and migrate; waits for Postgres while it starts.

    Raises ConfigError, InvalidArgument or ReleaseTooLow.
    """
    database = Database(settings.database)
    try:
        _migrate(database, settings)
        pool_size = _pool_size(settings, server_limits.connections_max(database))
        if server_limits.is_pooled(database):
            pool_size = _pooled_size(database, settings, pool_size)
    except OptionsRefused as error:
        database.close()
        raise ConfigError(
            f"what answers at {database.shown_url} drops or refuses the options of"
            " connections or transactions, as PgBouncer does: point META_DATABASE_URL at Postgres"
            " itself"
        ) from error
    except (ConfigError, InvalidArgument, ReleaseTooLow):
        database.close()
        raise
    if pool_size == settings.database.pool_size:
        return database
    database.close()
    log.warning("database_pool_reduced", pool_size=pool_size, processes=settings.processes)
    return Database(replace(settings.database, pool_size=pool_size))


def _migrate(database: Database, settings: Settings) -> None:
    deadline = time.monotonic() + settings.database_wait_secs
    while True:
        try:
            _check_pooler(database, settings)
            migrations.upgrade(database)
            tenant_policies.check(database)
        except Unavailable as error:
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"Postgres at {database.shown_url} does not answer: {error};"
                    " check META_DATABASE_URL and that the server runs"
                ) from error
            log.info("waiting_for_database", error=str(error))
            time.sleep(POLL_SECS)
        else:
            return


def _check_pooler(database: Database, settings: Settings) -> None:
    """Refuse what shares sessions before a migration takes locks of a session."""
    if not server_limits.has_own_sessions(database):
        raise ConfigError(
            f"what answers at {database.shown_url} shares sessions of Postgres"
            " between connections, as PgBouncer does in transaction mode: set pool_mode = session,"
            " or point META_DATABASE_URL at Postgres itself"
        )
    if not server_limits.has_options(database, settings.database):
        raise OptionsRefused


def _pool_size(settings: Settings, connections_max: int) -> int:
    """The connections of one process's pool; a default is reduced to what Postgres allows.

    Raises ConfigError for a META_DATABASE_POOL that is too large.
    """
    pool_size = settings.database.pool_size
    fitting = connections_max // settings.processes - CONNECTIONS_BESIDE_POOL
    # The witness has a connection too; if there is no room for it, it is one of the pool's.
    fitting_witness = max(fitting - int(settings.keeps_witness), 2)
    if pool_size <= fitting:
        return min(pool_size, fitting_witness)
    if settings.is_pool_set or fitting < 2:
        total = settings.processes * (pool_size + CONNECTIONS_BESIDE_POOL)
        raise ConfigError(
            f"META_PROCESSES {settings.processes} with META_DATABASE_POOL {pool_size} take {total}"
            f" connections, Postgres allows {connections_max}: lower one of them or raise"
            " max_connections"
        )
    return fitting_witness


def _pooled_size(database: Database, settings: Settings, pool_size: int) -> int:
    """The connections of one process's pool behind a pooler, whose sessions are counted.

    A default is reduced to what the pooler gives now. Raises ConfigError for a META_DATABASE_POOL
    that is too large: beyond the sessions calls would wait for one in vain.
    """
    beside = CONNECTIONS_BESIDE_POOL + int(settings.keeps_witness)
    needed = pool_size + beside
    # The connections of the start would count as sessions of others.
    database.engine.dispose()
    sessions = server_limits.sessions_at_once(settings.database, needed)
    fitting = sessions - beside
    if fitting >= pool_size:
        return pool_size
    if settings.is_pool_set or fitting < 2:
        raise ConfigError(
            f"the pooler at {database.shown_url} gives {sessions} sessions at a time, and each"
            f" process needs {needed}: META_DATABASE_POOL {pool_size} and {beside} more; raise"
            " default_pool_size of PgBouncer or lower META_DATABASE_POOL"
        )
    return fitting
