"""A database with the role of callers and two tenants, of which the second is made by SQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

import psycopg

from meta import access, migrations
from meta.access import ANONYMOUS, DEFAULT_TENANT, TenantScope
from meta.store.engine.pool import Database, DatabaseSettings
from tests.support.meta.database_roles import CALLERS

OTHER_TENANT_ID = UUID(int=0x7000_8000_0000_0000_0002)
_INSERT = "INSERT INTO tenants (id, name) VALUES (%s, 'other') ON CONFLICT DO NOTHING RETURNING key"


@contextmanager
def database_of(url: str, **settings: int) -> Iterator[Database]:
    """Open a migrated database for servers that have a role of callers."""
    database = Database(DatabaseSettings(url, caller_role=CALLERS, **settings))
    try:
        migrations.upgrade(database)
        yield database
    finally:
        database.close()


def add_other(owner_url: str) -> int:
    """Insert the second tenant; returns its key."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        row = owner.execute(_INSERT, (OTHER_TENANT_ID,)).fetchone()
    assert row is not None
    assert row[0] != DEFAULT_TENANT
    return int(row[0])


@contextmanager
def caller_of(tenant_key: int | None) -> Iterator[None]:
    """Let a block be a call of a tenant's caller, None = an operator's."""
    token = access.current.set(replace(ANONYMOUS, scope=TenantScope(tenant_key)))
    try:
        yield
    finally:
        access.current.reset(token)


# A row of each table with a policy, of entries whose ids are those of the tenant. Triggers write
# the rows of resources, and the tenant of visibility and links.
_ROWS = """
    INSERT INTO groups (id, name, tenant_key) VALUES ({group}, 'team', {key});
    INSERT INTO group_visibility (group_id, from_version) VALUES ({group}, 0);
    INSERT INTO datasets (id, name, group_id, tenant_key) VALUES ({dataset}, 'web', {group}, {key});
    INSERT INTO dataset_visibility (dataset_key, from_version)
        SELECT key, 0 FROM datasets WHERE id = {dataset};
    INSERT INTO dataset_deduplication (dataset_key, days)
        SELECT key, 1 FROM datasets WHERE id = {dataset};
    INSERT INTO schemas (id, name, tenant_key) VALUES ({schema}, 'events', {key});
    INSERT INTO schema_columns (schema_id, position, name, type) VALUES ({schema}, 0, 'code', 1);
    INSERT INTO schema_versions (schema_id, version, names, types)
        VALUES ({schema}, 1, '{{code}}', '{{1}}');
    INSERT INTO schema_bindings (dataset_id, schema_id, names, scopes, attributes)
        VALUES ({dataset}, {schema}, '{{}}', '{{}}', '{{}}');
    INSERT INTO sharding_fields (dataset_id, position, field_name, weight)
        VALUES ({dataset}, 0, 'host', 1);
    INSERT INTO promoted_columns (dataset_id, position, name, type, scope, attribute)
        VALUES ({dataset}, 0, 'code', 1, 1, 'code');
    INSERT INTO promoted_field_ids (dataset_id, field_id, name, type, scope, attribute)
        VALUES ({dataset}, 1000, 'code', 1, 1, 'code');
    INSERT INTO automatic_columns (dataset_id, field_id, attribute, type, is_written)
        VALUES ({dataset}, 2000, 'host', 1, true);
    INSERT INTO former_layouts (dataset_id, until_version, field_ids)
        VALUES ({dataset}, 1, '{{1000}}');
    INSERT INTO dataset_usage (dataset_id, month, slot, records)
        VALUES ({dataset}, '2026-01', 0, 7);
    INSERT INTO views (id, name, tenant_key) VALUES ({view}, 'errors', {key});
    INSERT INTO projections (id, name, projection, tenant_key)
        VALUES ({projection}, 'plain', 'project body', {key});
    INSERT INTO view_dataset_projections (id, view_id, dataset_id, projection_id)
        VALUES ({link}, {view}, {dataset}, {projection});
    INSERT INTO link_columns (link_id, kind, name, type) VALUES ({link}, 0, 'code', 1);
    INSERT INTO ingest_tokens (id, name, digest, hint, tenant_key)
        VALUES ({ingest_token}, 'agents', uuid_send({ingest_token}), '', {key});
    INSERT INTO access_tokens (id, subject, role, digest, hint, tenant_key)
        VALUES ({access_token}, 'ann', 'reader', uuid_send({access_token}), '', {key});
    INSERT INTO resource_labels
        (id, kind, source, key, value, name, created_at, changed_at, is_live, tenant_key)
        VALUES ({schema}, 3, 0, 'cost', 'a', 'events', now(), now(), true, {key});
    INSERT INTO resource_locks (id, kind, resource_id, token_digest, reason, locked_by)
        VALUES (gen_random_uuid(), 3, {schema}, ''::bytea, 'audit', 'ann');
    INSERT INTO catalog_authors (entry_id, created_by) VALUES ({access_token}, 'ann'),
        ({schema}, 'ann');
    INSERT INTO audit_log (rpc, subject_id, detail, tenant_key)
        VALUES ('CreateSchema', '', '', {key});
    INSERT INTO costs VALUES ('2026-01-01', {key}, {dataset}, 1, 1, 1, 1, 1);
    INSERT INTO tenant_shares (tenant_key) VALUES ({key});
    INSERT INTO metric_names (tenant_key) VALUES ({key});
    INSERT INTO cost_months VALUES ('2026-01-01', {key}, {dataset}, 1, 1, 1, 1, 1);
"""
_ENTRIES = (
    "group",
    "dataset",
    "schema",
    "view",
    "projection",
    "link",
    "ingest_token",
    "access_token",
)


def id_of(entry: str, tenant_key: int) -> UUID:
    """The id of an entry of a tenant."""
    return UUID(int=(tenant_key + 1) << 64 | _ENTRIES.index(entry))


def fill(owner_url: str, tenant_key: int) -> None:
    """Insert a row of each table that has a policy; names of all tenants are equal."""
    ids = {entry: f"'{id_of(entry, tenant_key)}'::uuid" for entry in _ENTRIES}
    with psycopg.connect(owner_url, autocommit=True) as owner:
        for statement in _ROWS.format(key=tenant_key, **ids).strip().split(";\n"):
            owner.execute(statement.encode())
