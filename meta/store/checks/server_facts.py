"""Facts of the Postgres server and of the rights in its database, read for an examination.

They are read over a connection of their own that can only read: meta's pool notes a failover or a
restore in the database when it connects.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import namedtuple_row

from meta.database_facts import DatabaseFacts, RoleRights, Standby
from meta.errors import Unavailable
from meta.store.engine import connecting, database_url

SETTINGS = (
    *("fsync", "full_page_writes", "synchronous_commit", "autovacuum", "max_connections"),
    *("statement_timeout", "idle_in_transaction_session_timeout", "shared_buffers", "ssl"),
)
ROLES_MAX = 100
TIMEOUT_MS = 10_000
_SERVER = """
    SELECT version() AS version, current_setting('server_version_num')::int AS version_number,
      current_setting('server_encoding') AS encoding, current_user::text AS role,
      current_setting('is_superuser')::bool AS is_superuser,
      pg_database_size(current_database()) AS size_bytes,
      (SELECT age(datfrozenxid) FROM pg_database
       WHERE datname = current_database()) AS transaction_age,
      (SELECT count(*) FROM pg_stat_activity
       WHERE backend_type = 'client backend') AS connections,
      to_regclass('alembic_version') IS NOT NULL AS has_tables, pg_backend_pid() AS pid,
      current_setting('max_connections')::int
        - CASE WHEN current_setting('is_superuser')::bool THEN 0
               ELSE current_setting('superuser_reserved_connections')::int
                 + coalesce(current_setting('reserved_connections', true)::int, 0) END
        AS connections_max
"""
_SETTINGS = "SELECT name, current_setting(name) AS setting FROM unnest(%s::text[]) AS n (name)"
_LOCK_WAITS = """
    SELECT count(*)::int AS number,
      coalesce(extract(epoch FROM max(clock_timestamp() - query_start)), 0)::float8 AS longest_secs
    FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
_REVISION = "SELECT version_num FROM alembic_version"
# The rights that serve calls, as docs/security.md grants them. A role without any right to write
# serves none: that of a backup, or of a person. The role of tenants' callers, which its policies
# name, has fewer rights, and each server checks them at its start.
_ROLES = """
    WITH ours AS (
      SELECT c.oid, c.relname::text AS name, c.relacl, c.relowner FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')
        AND c.relname <> 'alembic_version'
    ), writing AS (
      SELECT DISTINCT r.oid, r.rolname::text AS role
      FROM ours o
        CROSS JOIN LATERAL aclexplode(coalesce(o.relacl, acldefault('r', o.relowner))) a
        JOIN pg_roles r ON r.oid = a.grantee
      WHERE a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE')
        AND NOT EXISTS (SELECT FROM pg_policy p
                        WHERE p.polname = 'callers' AND r.oid = ANY(p.polroles))
      ORDER BY role LIMIT %s
    ), needed AS (
      SELECT w.role, w.oid AS role_oid, o.oid, o.name,
        CASE o.name WHEN 'audit_log' THEN ARRAY['SELECT', 'INSERT', 'DELETE']
                    ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END AS rights
      FROM writing w CROSS JOIN ours o
    )
    SELECT role, count(*)::int AS tables,
      coalesce(array_agg(name ORDER BY name) FILTER (WHERE EXISTS (
        SELECT FROM unnest(rights) AS needed_right
        WHERE NOT has_table_privilege(role_oid, oid, needed_right))), '{}') AS lacking
    FROM needed GROUP BY role ORDER BY role
"""
_STANDBYS = """
    SELECT coalesce(application_name, '') AS name, coalesce(state, '') AS state,
      extract(epoch FROM replay_lag)::float8 AS lag_secs
    FROM pg_stat_replication ORDER BY 1 LIMIT 100
"""


def shown_url(url: str) -> str:
    """Return a libpq URL without its password. Raises ValueError for one that is none."""
    return database_url.normalized(url).render_as_string(hide_password=True)


def read(url: str, newest_revision: str) -> DatabaseFacts:
    """Read all facts of a libpq URL. Raises Unavailable, and ValueError for a URL that is none."""
    with _connected(url) as connection:
        server = connection.execute(_SERVER).fetchone()
        assert server is not None
        began = time.monotonic()
        lock_waits = connection.execute(_LOCK_WAITS).fetchone()
        answer_secs = time.monotonic() - began
        assert lock_waits is not None
        revision = connection.execute(_REVISION).fetchone() if server.has_tables else None
        return DatabaseFacts(
            version=server.version.split(" on ")[0],
            version_number=server.version_number,
            encoding=server.encoding,
            settings={row[0]: row[1] for row in connection.execute(_SETTINGS, [list(SETTINGS)])},
            connections_max=server.connections_max,
            connections=server.connections,
            # A pooler hands out its own numbers of sessions.
            is_pooled=server.pid != connection.info.backend_pid,
            answer_secs=answer_secs,
            lock_waits=lock_waits.number,
            lock_wait_secs=lock_waits.longest_secs,
            size_bytes=server.size_bytes,
            transaction_age=server.transaction_age,
            revision=None if revision is None else revision.version_num,
            newest_revision=newest_revision,
            role=server.role,
            is_superuser=server.is_superuser,
            roles=[
                RoleRights(row.role, row.tables, tuple(row.lacking))
                for row in connection.execute(_ROLES, [ROLES_MAX])
            ],
            standbys=[Standby(*row) for row in connection.execute(_STANDBYS)],
        )


@contextmanager
def _connected(url: str) -> "Iterator[psycopg.Connection[Any]]":
    parameters = connecting.parameters(database_url.normalized(url), "segplane doctor")
    try:
        with psycopg.connect(**parameters, autocommit=True, row_factory=namedtuple_row) as opened:  # type: ignore[arg-type]
            opened.execute("SET default_transaction_read_only = on")
            opened.execute(f"SET statement_timeout = {TIMEOUT_MS}")
            yield opened
    except psycopg.Error as error:
        # Only the first line: a further one may repeat the parameters.
        cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise Unavailable(cause) from error
