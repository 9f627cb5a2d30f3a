"""Row-level security: a tenant's transaction reaches the rows of its tenant, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

import meta
from meta.errors import NotFound
from meta.migrations import tenant_policies
from meta.migrations.tenant_policies import CONDITIONS
from meta.store.engine import caller_role
from meta.store.engine.pool import Database, Transaction
from meta.store.tables import metadata
from meta.store.versions import upgrades
from tests.support.meta.database_roles import CALLERS
from tests.support.meta.two_tenants import add_other, caller_of, database_of, fill, id_of

# Tables of rows that are keyed by the key or id of a dataset, a stream or a segment of it. A call
# takes it from a row of a table with a policy: see test_exempt_tables.
OF_DATASETS = {
    "dataset_duplicates",
    "dataset_stats",
    "deduplication_pages",
    *(f"deduplication_pages_{n:02}" for n in range(32)),
    "deduplication_runs",
    "deletion_brakes",
    "excess_allowances",
    "lineage_ends",
    "losses",
    "measured_datasets",
    "merge_attempts",
    "merge_task_inputs",
    "merge_tasks",
    "offset_checkpoints",
    "pins",
    "quarantined_ranges",
    "registration_segments",
    "registrations",
    "replays",
    "retention_baselines",
    "rewrite_jobs",
    "rewrites",
    "routing_changes",
    "segment_lineage",
    "segments",
    "staged_deduplication_keys",
    "stream_datasets",
    "stream_removals",
    "table_objects",
    "table_snapshots",
    "vacuums",
    "visibility_counts",
}
# Tables of the operator: streams, processes, the bucket, the counter.
OF_OPERATORS = {
    "baby_segments",
    "backup_streams",
    "backups",
    "clock_gaps",
    "clock_state",
    "cost_reports",
    "cost_samples",
    "creator_quotas",
    "damaged_objects",
    "denied_calls",
    "ingest_streams",
    "meta_servers",
    "meta_state",
    "nurseries",
    "nursery_shards",
    "object_identities",
    "object_stores",
    "parked_streams",
    "processes",
    "routing_periods",
    "scrub_state",
    "stream_heads",
    "stream_tokens",
    "version_gaps",
    "witness_state",
    "worker_settings",
    "workers",
}
# Unique keys of ids, which two tenants never have in common, and of secrets.
IDS: dict[str, set[tuple[str, ...]]] = {
    # One dataset is the default one, of the tenant `default`; a group is of one tenant.
    "datasets": {("id",), ("key",), ("is_default",), ("group_id", "name")},
    "dataset_visibility": {("dataset_key", "from_version")},
    "groups": {("id",)},
    "group_visibility": {("group_id", "from_version")},
    "schemas": {("id",)},
    "views": {("id",)},
    "projections": {("id",)},
    "view_dataset_projections": {("id",), ("view_id", "dataset_id", "projection_id")},
    "ingest_tokens": {("id",), ("digest",)},
    "access_tokens": {("id",), ("digest",)},
    "resources": {("id", "kind")},
    "resource_labels": {("id", "kind", "source", "key")},
    "audit_log": {("id",)},
}
UNIQUE_KEYS = text("""
    SELECT c.relname, ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY k (n, o)
                            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.n ORDER BY o)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE i.indisunique AND c.relname = ANY(:tables)
""")


@pytest.fixture(scope="module")
def other(module_database_url: str) -> int:
    """Fill two tenants, and give the key of the second."""
    with database_of(module_database_url) as database, database.write() as tx:
        upgrades.contract(tx)
    key = add_other(module_database_url)
    for tenant_key in (0, key):
        fill(module_database_url, tenant_key)
    return key


@pytest.fixture(scope="module")
def database(module_database_url: str, other: int) -> Iterator[Database]:
    """Give a database with two tenants that have equal names; tests change nothing in it."""
    with database_of(module_database_url, pool_size=1) as opened:
        yield opened


def counted(tx: Transaction) -> dict[str, int]:
    """The rows of each table with a policy that a transaction sees."""
    return {
        table: int(tx.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())  # noqa: S608
        for table in CONDITIONS
    }


def test_every_table_has_a_policy_or_is_exempt_for_a_reason() -> None:
    assert OF_DATASETS.isdisjoint(OF_OPERATORS)
    assert {*CONDITIONS} | OF_DATASETS | OF_OPERATORS == {*metadata.tables}
    assert OF_DATASETS.isdisjoint(CONDITIONS)
    assert OF_OPERATORS.isdisjoint(CONDITIONS)


def test_every_table_with_a_tenant_has_a_policy_that_reads_it() -> None:
    tables = {name for name, table in metadata.tables.items() if "tenant_key" in table.columns}

    assert tables == {name for name, sql in CONDITIONS.items() if sql.startswith("tenant_key =")}


def test_a_tenant_sees_its_rows_and_operators_see_all(database: Database, other: int) -> None:
    seen = {}
    for key in (None, 0, other):
        with caller_of(key), database.read() as tx:
            seen[key] = counted(tx)

    # Of a hidden row no table shows anything, and each has one of the other tenant.
    assert all(seen[other].values())
    assert seen[None] == {table: seen[0][table] + seen[other][table] for table in CONDITIONS}


@pytest.mark.parametrize("setting", ["unset", "emptied"])
def test_without_a_tenant_the_role_sees_nothing_and_nothing_is_raised(
    database: Database, other: int, setting: str
) -> None:
    with database.read() as tx:
        if setting == "unset":
            tx.exec_driver_sql("SELECT set_config('role', %s, true)", (CALLERS,))
        else:
            caller_role.take(tx, CALLERS, None)
        seen = counted(tx)

    assert not any(seen.values())


def test_a_tenant_changes_and_deletes_no_row_of_another(database: Database, other: int) -> None:
    changed = {}
    with caller_of(other), database.write() as tx:
        for table, column in (
            ("datasets", "title"),
            ("schemas", "name"),
            ("access_tokens", "subject"),
            ("sharding_fields", "field_name"),
        ):
            sql = f"UPDATE {table} SET {column} = 'taken'"  # noqa: S608
            changed[table] = tx.exec_driver_sql(sql).rowcount
        deleted = tx.exec_driver_sql("DELETE FROM link_columns").rowcount
        tx.rollback()

    assert set(changed.values()) == {1}
    assert deleted == 1


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO schemas (id, name, tenant_key) VALUES (gen_random_uuid(), 'new', 0)",
        "UPDATE views SET tenant_key = 0",
        "UPDATE datasets SET tenant_key = 0",
        "INSERT INTO audit_log (rpc, subject_id, detail, tenant_key) VALUES ('', '', '', 0)",
        "INSERT INTO sharding_fields (dataset_id, position, field_name, weight)"
        " VALUES (%(dataset)s, 1, 'host', 1)",
        "INSERT INTO schema_bindings (dataset_id, schema_id, names, scopes, attributes)"
        " VALUES (%(dataset)s, %(schema)s, '{}', '{}', '{}')"
        " ON CONFLICT (dataset_id) DO UPDATE SET version = 1",
    ],
)
def test_a_tenant_writes_no_row_of_another(database: Database, other: int, statement: str) -> None:
    ids = {entry: id_of(entry, 0) for entry in ("dataset", "schema")}

    with caller_of(other), pytest.raises(NotFound, match="no such entry"), database.write() as tx:
        tx.exec_driver_sql(statement, ids)

    # It is no fault of the database, which would end all calls.
    assert database.causes.met() == []


def test_a_conflict_with_a_hidden_row_is_not_taken_for_a_row_that_is_missing(
    database: Database, other: int
) -> None:
    taken = "INSERT INTO resources (id, kind, name, created_at, changed_at, tenant_key) VALUES"
    values = f" ('{id_of('schema', 0)}', 3, 'events', now(), now(), {other})"

    with caller_of(other), pytest.raises(NotFound), database.write() as tx:
        tx.exec_driver_sql(taken + values + " ON CONFLICT (id, kind) DO UPDATE SET note = 'mine'")


def test_no_statement_passes_over_a_conflict_in_a_table_with_a_policy() -> None:
    insert = re.compile(
        r"INSERT INTO (\w+)((?:(?!INSERT INTO|\"\"\").)*?)ON CONFLICT[^;]*?DO NOTHING", re.S
    )
    sources = (Path(meta.__file__).parent / "store").rglob("*.py")

    passing = {match[1] for path in sources for match in insert.finditer(path.read_text())}

    # The pattern finds what it is for.
    assert "stream_datasets" in passing
    # A lock's id is drawn by its call, so a conflict is with the same call.
    assert passing & {*CONDITIONS} == {"resource_locks"}


def test_uniqueness_never_crosses_tenants(database: Database, other: int) -> None:
    with database.read() as tx:
        rows = tx.execute(UNIQUE_KEYS, {"tables": list(CONDITIONS)}).all()
    keys = [(str(table), tuple(columns)) for table, columns in rows]

    with_tenant = {table for table, sql in CONDITIONS.items() if sql.startswith("tenant_key =")}
    crossing = [
        (table, columns)
        for table, columns in keys
        if table in with_tenant
        and "tenant_key" not in columns
        and columns not in IDS.get(table, ())
    ]
    assert with_tenant <= {table for table, _ in keys}
    assert crossing == []


def test_policies_and_rights_are_made_once(database: Database, other: int) -> None:
    with database.engine.connect() as tx:
        before = tx.exec_driver_sql("SELECT max(xmin::text::bigint) FROM pg_policy").scalar_one()
    tenant_policies.prepare(database)
    with database.engine.connect() as tx:
        after = tx.exec_driver_sql("SELECT max(xmin::text::bigint) FROM pg_policy").scalar_one()

    assert after == before


def test_tables_of_later_migrations_get_rights(empty_database_url: str) -> None:
    with database_of(empty_database_url) as database:
        with database.engine.begin() as tx:
            tx.exec_driver_sql("CREATE TABLE later (id int)")
        tenant_policies.prepare(database)
        with caller_of(0), database.write() as tx:
            tx.exec_driver_sql("INSERT INTO later VALUES (1)")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT FROM alembic_version",
        "UPDATE audit_log SET principal = 'somebody'",
        "DELETE FROM audit_log",
        "INSERT INTO tenants (id, name) VALUES (gen_random_uuid(), 'mine')",
        "UPDATE tenants SET suspended_at = NULL",
        "ALTER TABLE datasets DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE more (id int)",
    ],
)
def test_the_role_of_callers_may_do_no_more(database: Database, other: int, statement: str) -> None:
    with database.engine.connect() as tx:
        caller_role.take(tx, CALLERS, other)
        with pytest.raises(Exception, match=r"permission denied|must be owner"):
            tx.exec_driver_sql(statement)
