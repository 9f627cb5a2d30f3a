"""Statements of a small tenant under its policies read its rows, not those of a large one."""

from collections.abc import Callable, Iterator
from functools import partial

import psycopg
import pytest

from meta.access import DEFAULT_TENANT
from meta.store.access import audit
from meta.store.access.audit import AuditFilter
from meta.store.catalog import (
    dataset_layouts,
    dataset_settings,
    datasets,
    links,
    resource_pages,
    schemas,
    usage,
)
from meta.store.catalog.links import LinkFilter
from meta.store.catalog.resource_pages import ResourceQuery
from meta.store.catalog.resources import ResourceKind
from meta.store.engine.keyset import Window
from meta.store.engine.pool import Database, Transaction
from meta.store.lookup import lookup
from meta.store.lookup.page_statement import PageQuery
from meta.store.streams import tokens
from tests.support.meta.page_reads import read_page
from tests.support.meta.plans import rows_read
from tests.support.meta.two_tenants import add_other, caller_of, database_of, fill, id_of

# Entries of each kind of the large tenant.
MANY = 10_000
# All that the small tenant has are some ten rows of a table.
ROWS_MAX = 100
FILL = (
    """
    WITH made AS (INSERT INTO datasets (id, name)
        SELECT gen_random_uuid(), 'dataset ' || n FROM generate_series(1, %(many)s) n
        RETURNING id, key),
    shown AS (INSERT INTO dataset_visibility (dataset_key, from_version)
        SELECT key, 0 FROM made),
    used AS (INSERT INTO dataset_usage (dataset_id, month, slot, records)
        SELECT id, '2026-01', 0, 1 FROM made)
    INSERT INTO promoted_columns (dataset_id, position, name, type, scope, attribute)
        SELECT id, 0, 'code', 1, 1, 'code' FROM made
    """,
    "INSERT INTO schemas (id, name)"
    " SELECT gen_random_uuid(), 'schema ' || n FROM generate_series(1, %(many)s) n",
    "INSERT INTO ingest_tokens (id, name, digest, hint)"
    " SELECT u, 'token ' || n, uuid_send(u), '' FROM generate_series(1, %(many)s) n"
    " CROSS JOIN LATERAL (SELECT gen_random_uuid() u WHERE n > 0) r",
    "INSERT INTO audit_log (rpc, subject_id, detail)"
    " SELECT 'CreateSchema', '', '' FROM generate_series(1, %(many)s) n",
)


@pytest.fixture(scope="module")
def small(module_database_url: str) -> int:
    """Fill a large tenant and a small one; give the key of the small one."""
    key = add_other(module_database_url)
    with psycopg.connect(module_database_url, autocommit=True) as owner:
        for statement in FILL:
            owner.execute(statement, {"many": MANY})
        fill(module_database_url, DEFAULT_TENANT)
        fill(module_database_url, key)
        owner.execute("VACUUM ANALYZE")
    return key


@pytest.fixture(scope="module")
def database(module_database_url: str, small: int) -> Iterator[Database]:
    with database_of(module_database_url) as opened:
        yield opened


WINDOW = Window(100, 1_000_000)
BY_NAME = ResourceQuery(ResourceKind.DATASET)
# The statements of the calls that people, readers and the gateway make most.
CALLS: dict[str, Callable[[int, Transaction], object]] = {
    "a dataset by name": lambda _, tx: datasets.find_by_name(tx, "team/web"),
    "a dataset by id": lambda key, tx: datasets.find(tx, id_of("dataset", key)),
    "datasets": lambda _, tx: datasets.list_page(tx, WINDOW),
    "datasets at a version": lambda _, tx: lookup.visible_datasets(tx, ["team/web"], 1),
    "usage of all datasets": lambda _, tx: usage.read(tx, []),
    "settings": lambda key, tx: dataset_settings.read(tx, id_of("dataset", key)),
    "columns": lambda key, tx: dataset_layouts.read(tx, [id_of("dataset", key)]),
    "resources by name": lambda _, tx: resource_pages.read(tx, BY_NAME, None, 100, 1_000_000),
    "ingest tokens": lambda _, tx: tokens.list_page(tx, WINDOW),
    "a schema by name": lambda _, tx: schemas.SCHEMAS.find(tx, "events"),
    "links": lambda _, tx: links.list_page(tx, WINDOW, LinkFilter()),
    "segments of all datasets": lambda _, tx: read_page(tx, PageQuery(0, 10, 100)),
    "segments by name": lambda _, tx: read_page(tx, PageQuery(0, 10, 100, names=["team/web"])),
    "audit records": lambda _, tx: audit.list_newest(tx, AuditFilter(), 0, 100),
}


@pytest.mark.database_owner
@pytest.mark.long
def test_a_small_tenant_pays_for_its_rows(database: Database, small: int) -> None:
    with caller_of(small):
        read = {name: rows_read(database, partial(call, small)) for name, call in CALLS.items()}

    assert {name: count for name, count in read.items() if count > ROWS_MAX} == {}
