"""Row-level security of the catalog, for the role of transactions of tenants' callers.

Each table has two policies: a permissive one for everybody, since other roles are the operator's,
and a restrictive one of the callers' role. The role's name is a setting, so no revision makes them:
`segplane migrate` does, and the start of a server whose role owns the tables. Tables that no
migration made yet get policies and grants when it has.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from meta.errors import Unavailable
from meta.process.exits import ConfigError
from meta.store.engine import caller_role
from meta.store.engine.pool import Database

EVERYBODY, CALLERS = "everybody", "callers"
# Read once a statement. Without a tenant it is null, which equals no key, and raises nothing.
_TENANT = f"(SELECT nullif(current_setting('{caller_role.TENANT_PARAMETER}', true), '')::integer)"
_OF_TENANT = (
    "datasets",
    "dataset_visibility",
    "groups",
    "group_visibility",
    "schemas",
    "views",
    "projections",
    "view_dataset_projections",
    "ingest_tokens",
    "access_tokens",
    "resources",
    "resource_labels",
    "audit_log",
    "costs",
    "cost_months",
    "tenant_shares",
    "metric_names",
)
# Rows of settings and parts of an entry of the catalog, by the entry: its policy holds for them.
_OF_ENTRY = {
    "sharding_fields": ("dataset_id", "datasets", "id"),
    "promoted_columns": ("dataset_id", "datasets", "id"),
    "promoted_field_ids": ("dataset_id", "datasets", "id"),
    "automatic_columns": ("dataset_id", "datasets", "id"),
    "former_layouts": ("dataset_id", "datasets", "id"),
    "schema_bindings": ("dataset_id", "datasets", "id"),
    "dataset_deduplication": ("dataset_key", "datasets", "key"),
    "dataset_usage": ("dataset_id", "datasets", "id"),
    "schema_columns": ("schema_id", "schemas", "id"),
    "schema_versions": ("schema_id", "schemas", "id"),
    "link_columns": ("link_id", "view_dataset_projections", "id"),
}


def _exists(table: str, column: str, parent: str, key: str) -> str:
    return f"EXISTS (SELECT FROM {parent} entry WHERE entry.{key} = {table}.{column})"


# The condition of the restrictive policy of each table.
CONDITIONS: Mapping[str, str] = {
    "tenants": f"key = {_TENANT}",
    **dict.fromkeys(_OF_TENANT, f"tenant_key = {_TENANT}"),
    **{table: _exists(table, *entry) for table, entry in _OF_ENTRY.items()},
    # Entries of all kinds but access tokens are resources.
    "catalog_authors": _exists("catalog_authors", "entry_id", "resources", "id")
    + " OR "
    + _exists("catalog_authors", "entry_id", "access_tokens", "id"),
    # An awaited lock is of a dataset that is not known after a restore; nothing is deleted then.
    "resource_locks": "is_awaited OR "
    + _exists("resource_locks", "resource_id", "resources", "id"),
}
# The rights of callers on tables; on all others they have those of the serving role.
_EVERY_RIGHT = "SELECT, INSERT, UPDATE, DELETE"
_RIGHTS = {"alembic_version": "", "audit_log": "SELECT, INSERT"} | dict.fromkeys(
    ("tenants", "tenant_shares"), "SELECT"
)
_ROLE_EXISTS = text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)")
_IS_SUPERUSER = text("SELECT current_setting('is_superuser')::bool")
# A comment has the expression that made a policy: Postgres shows it in words of its own.
_POLICIES = text("""
    SELECT c.relname::text, c.relrowsecurity AS is_enabled,
           obj_description(p.oid, 'pg_policy') AS made_by,
           ARRAY(SELECT rolname::text FROM pg_roles WHERE oid = ANY(p.polroles)) AS roles
    FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND p.polname = :name
""")
# Tables on which the role lacks a right, or has one that it does not need.
_WRONG_RIGHTS = text("""
    SELECT DISTINCT c.relname::text
    FROM pg_class c CROSS JOIN unnest(string_to_array(:every_right, ', ')) r (name)
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
      AND has_table_privilege(:role, c.oid, r.name) <> (r.name = ANY(string_to_array(
            coalesce(cast(:rights AS json) ->> c.relname::text, :every_right), ', ')))
    ORDER BY 1
""")
_LOCK = text("SELECT pg_advisory_xact_lock(:key)")
# Any number will do, as long as every release uses the same.
_LOCK_KEY = 7_310_579_241_902_115
_SEES_TENANTS = text("SELECT EXISTS (SELECT FROM tenants)")
_IS_RESTRICTED = text("""
    SELECT bool_and(row_security_active(name)) FROM unnest(cast(:tables AS text[])) name
""")


@dataclass(frozen=True, slots=True)
class _Policies:
    """The policies of a database for one role."""

    database: Database
    role: str

    def find_role(self) -> None:
        """Raise ConfigError unless the role exists. A superuser, as of `segplane dev`, makes it."""
        with self.database.engine.begin() as tx:
            tx.execute(_LOCK, {"key": _LOCK_KEY})
            if tx.execute(_ROLE_EXISTS, {"role": self.role}).scalar_one():
                return
            if not tx.execute(_IS_SUPERUSER).scalar_one():
                raise ConfigError(
                    f"there is no role {self.role}, which META_DATABASE_CALLER_ROLE names:"
                    f" CREATE ROLE {self.role} NOLOGIN"
                )
            tx.exec_driver_sql(f"CREATE ROLE {self.role} NOLOGIN")

    def make(self) -> None:
        """Make what is missing. Raises DBAPIError."""
        with self.database.engine.connect() as tx:
            missing, wrong = self._missing(tx), self._wrong_rights(tx)
        # One table at a time: a lock of all would meet transactions that hold some.
        for table in missing:
            with self.database.engine.begin() as tx:
                tx.execute(_LOCK, {"key": _LOCK_KEY})
                if table in (made := self._missing(tx)):
                    self._protect(tx, table, made[table])
        if wrong:
            with self.database.engine.begin() as tx:
                tx.execute(_LOCK, {"key": _LOCK_KEY})
                self._grant(tx)

    def _missing(self, tx: Connection) -> dict[str, list[str]]:
        """The tables without a policy for the role, each with the roles that one is for."""
        rows = {row.relname: row for row in tx.execute(_POLICIES, {"name": CALLERS})}
        return {
            table: rows[table].roles if table in rows else []
            for table, condition in CONDITIONS.items()
            if not (
                (row := rows.get(table))
                and row.is_enabled
                and self.role in row.roles
                and row.made_by == condition
            )
        }

    def _protect(self, tx: Connection, table: str, roles: list[str]) -> None:
        """Replace the policies of a table; roles of servers with another setting keep theirs."""
        condition = CONDITIONS[table]
        comment = condition.replace("'", "''")
        every_role = ", ".join(sorted({self.role, *roles}))
        for statement in (
            f"DROP POLICY IF EXISTS {EVERYBODY} ON {table}",
            f"DROP POLICY IF EXISTS {CALLERS} ON {table}",
            f"CREATE POLICY {EVERYBODY} ON {table} USING (true)",
            f"CREATE POLICY {CALLERS} ON {table} AS RESTRICTIVE"
            f" TO {every_role} USING ({condition})",
            f"COMMENT ON POLICY {CALLERS} ON {table} IS '{comment}'",
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        ):
            tx.exec_driver_sql(statement)

    def _wrong_rights(self, tx: Connection) -> list[str]:
        values = {"role": self.role, "every_right": _EVERY_RIGHT, "rights": json.dumps(_RIGHTS)}
        return list(tx.execute(_WRONG_RIGHTS, values).scalars())

    def _grant(self, tx: Connection) -> None:
        tx.exec_driver_sql(f"GRANT USAGE ON SCHEMA public TO {self.role}")
        tx.exec_driver_sql(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {self.role}")
        for table in self._wrong_rights(tx):
            rights = _RIGHTS.get(table, _EVERY_RIGHT)
            tx.exec_driver_sql(f"REVOKE ALL ON {table} FROM {self.role}")
            if rights:
                tx.exec_driver_sql(f"GRANT {rights} ON {table} TO {self.role}")

    def check(self) -> None:
        """Raise ConfigError unless the role can be taken, and the policies hold for it alone."""
        with self.database.engine.connect() as tx:
            if not tx.execute(_SEES_TENANTS).scalar_one():
                raise ConfigError(self._refusal("the serving role inherits its rights"))
            try:
                caller_role.take(tx, self.role, None)
            except ProgrammingError as error:
                raise ConfigError(self._refusal("the serving role may not take it")) from error
            if not tx.execute(_IS_RESTRICTED, {"tables": list(CONDITIONS)}).scalar_one():
                raise ConfigError(
                    f"row-level security does not hold for META_DATABASE_CALLER_ROLE {self.role}:"
                    " it must be no superuser, own no table, and have no BYPASSRLS"
                )

    def _refusal(self, fault: str) -> str:
        return (
            f"META_DATABASE_CALLER_ROLE {self.role} cannot be used, {fault}: GRANT {self.role} TO"
            " the role of META_DATABASE_URL WITH INHERIT FALSE, SET TRUE"
        )


def prepare(database: Database, *, may_change: bool = True) -> None:
    """Make policies and rights for the role of callers, if it is set and they are missing.

    Raises ConfigError if there is no such role, or the role of the connection may not make them,
    and Unavailable while tables are locked.
    """
    if not database.caller_role:
        return
    policies = _Policies(database, caller_role.checked(database.caller_role))
    policies.find_role()
    if may_change:
        try:
            policies.make()
        except DBAPIError as error:
            if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
                raise ConfigError(
                    f"policies of META_DATABASE_CALLER_ROLE {policies.role} are missing: run"
                    " `segplane migrate` with this setting, as the owner of the tables"
                ) from error
            if isinstance(error.orig, psycopg.errors.LockNotAvailable):
                raise Unavailable("tables that get policies are locked") from error
            raise


def check(database: Database) -> None:
    """Raise ConfigError unless the role of callers, if it is set, can be used by a server."""
    if database.caller_role:
        _Policies(database, database.caller_role).check()
