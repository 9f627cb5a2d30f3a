"""Facts of the Postgres server and of the rights in its database, read for an examination."""

from sqlalchemy import text

from meta.database_facts import DatabaseFacts, RoleRights, Standby
from meta.store.engine import server_limits
from meta.store.engine.pool import Database, Transaction

SETTINGS = (
    *("fsync", "full_page_writes", "synchronous_commit", "autovacuum", "max_connections"),
    *("statement_timeout", "idle_in_transaction_session_timeout", "shared_buffers", "ssl"),
)
ROLES_MAX = 100
_SERVER = text("""
    SELECT version() AS version, current_setting('server_version_num')::int AS version_number,
      current_setting('server_encoding') AS encoding, current_user::text AS role,
      current_setting('is_superuser')::bool AS is_superuser,
      pg_database_size(current_database()) AS size_bytes,
      (SELECT age(datfrozenxid) FROM pg_database
       WHERE datname = current_database()) AS transaction_age,
      (SELECT count(*) FROM pg_stat_activity
       WHERE backend_type = 'client backend') AS connections,
      to_regclass('alembic_version') IS NOT NULL AS has_tables
""")
_SETTINGS = text(
    "SELECT name, current_setting(name) FROM unnest(cast(:names AS text[])) AS n (name)"
)
_REVISION = text("SELECT version_num FROM alembic_version")
# The rights that serve calls: those that docs/security.md grants.
_ROLES = text("""
    WITH ours AS (
      SELECT c.oid, c.relname::text AS name FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')
    ), granted AS (
      SELECT DISTINCT r.oid, r.rolname::text AS role
      FROM ours o JOIN pg_class c ON c.oid = o.oid
        CROSS JOIN LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
        JOIN pg_roles r ON r.oid = a.grantee
      ORDER BY role LIMIT :most
    ), lacking AS (
      SELECT g.role, o.name, g.oid AS role_oid, o.oid,
        CASE o.name WHEN 'alembic_version' THEN ARRAY['SELECT']
                    WHEN 'audit_log' THEN ARRAY['SELECT', 'INSERT', 'DELETE']
                    ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END AS needed
      FROM granted g CROSS JOIN ours o
    )
    SELECT role, count(*)::int,
      coalesce(array_agg(name ORDER BY name) FILTER (WHERE EXISTS (
        SELECT FROM unnest(needed) AS right_name
        WHERE NOT has_table_privilege(role_oid, oid, right_name))), '{}')
    FROM lacking GROUP BY role ORDER BY role
""")
_STANDBYS = text("""
    SELECT coalesce(application_name, ''), coalesce(state, ''),
      extract(epoch FROM replay_lag)::float8
    FROM pg_stat_replication ORDER BY 1 LIMIT 100
""")


def read(database: Database, newest_revision: str) -> DatabaseFacts:
    """Read all facts. Raises Unavailable, MetaError."""
    is_pooled = server_limits.is_pooled(database)
    connections_max = server_limits.connections_max(database)
    with database.read() as tx:
        server = tx.execute(_SERVER).one()
        return DatabaseFacts(
            version=server.version.split(" on ")[0],
            version_number=server.version_number,
            encoding=server.encoding,
            settings={row[0]: row[1] for row in tx.execute(_SETTINGS, {"names": list(SETTINGS)})},
            connections_max=connections_max,
            connections=server.connections,
            is_pooled=is_pooled,
            size_bytes=server.size_bytes,
            transaction_age=server.transaction_age,
            revision=tx.execute(_REVISION).scalar() if server.has_tables else None,
            newest_revision=newest_revision,
            role=server.role,
            is_superuser=server.is_superuser,
            roles=_roles(tx),
            standbys=[Standby(*row) for row in tx.execute(_STANDBYS)],
        )


def _roles(tx: Transaction) -> list[RoleRights]:
    rows = tx.execute(_ROLES, {"most": ROLES_MAX})
    return [RoleRights(role, tables, tuple(lacking)) for role, tables, lacking in rows]
