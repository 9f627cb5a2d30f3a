"""Statements below SQLAlchemy run as the role of the connection, and carry the tenant."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import meta
from meta.access import DEFAULT_TENANT
from meta.errors import NotFound
from meta.store.engine.pool import Database
from meta.store.lookup import lookup, page_statement
from meta.store.lookup.page_statement import PageQuery, SegmentStatements
from tests.support.meta.two_tenants import add_other, caller_of, database_of, fill, id_of

# Modules that use such statements, and the reason if no tenant's caller reaches them.
USERS = {
    "store/lookup/page_statement.py": "",
    "store/streams/commits.py": "group commits are operators' calls, which their queue asserts",
    "services/streams/ingestion.py": "opens the connection of the commits",
    "store/deduplication/run_filters.py": "filters are filled by a job",
}
_SEGMENT = (
    "INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,"
    " size_bytes, compressed_size_bytes, number_of_events, prefix, object_name, message)"
    " SELECT id, key, 0, 1, 2, 0, 1, 1, 1, '', id::text, uuid_send(id) FROM datasets"
    " WHERE group_id IS NOT NULL"
)


@pytest.fixture(scope="module")
def other(module_database_url: str) -> int:
    """Fill two tenants with a segment each, whose id is that of its dataset."""
    key = add_other(module_database_url)
    for tenant_key in (0, key):
        fill(module_database_url, tenant_key)
    with psycopg.connect(module_database_url, autocommit=True) as owner:
        owner.execute(_SEGMENT)
    return key


@pytest.fixture(scope="module")
def database(module_database_url: str, other: int) -> Iterator[Database]:
    with database_of(module_database_url) as opened:
        yield opened


def test_every_module_with_such_statements_is_listed() -> None:
    root = Path(meta.__file__).parent
    imports = re.compile(
        r"^from meta\.store\.engine(?: import .*\bdriver_statements\b|\.driver_statements import)",
        re.MULTILINE,
    )

    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if imports.search(path.read_text())
    }

    assert users == {*USERS}


PAGE = "(SELECT tenant FROM asked)"


@pytest.mark.parametrize(
    ("statement", "tenant"),
    [
        pytest.param(page_statement._PAGES[DEFAULT_TENANT], PAGE, id="page of default"),
        pytest.param(page_statement._PAGE_OF_TENANT, PAGE, id="page of another tenant"),
        pytest.param(page_statement._BY_IDS, "$4::integer", id="by ids"),
    ],
)
def test_a_statement_of_tenants_callers_reads_datasets_by_tenant(
    statement: bytes, tenant: str
) -> None:
    assert re.search(r"\bdatasets d\b", statement.decode())
    assert f"d.tenant_key = {tenant}" in statement.decode()


def test_segments_by_id_are_those_of_the_tenant(database: Database, other: int) -> None:
    ids = [id_of("dataset", key) for key in (0, other)]
    found = {}
    for key in (None, 0, other):
        with caller_of(key):
            found[key] = list(SegmentStatements().read_by_ids(database, ids).message)

    mine, others = (each.bytes for each in ids)
    assert found == {None: [mine, others], 0: [mine], other: [others]}


@pytest.mark.parametrize("names", [["team/web"], []], ids=["by name", "all"])
def test_a_page_is_of_the_tenant(database: Database, other: int, names: list[str]) -> None:
    found = {}
    for key in (0, other):
        with caller_of(key):
            part = SegmentStatements().read_page(database, PageQuery(0, 10, 100, names=names))
        assert part.is_readable
        found[key] = [bytes(each) for each in part.columns.message]

    assert found == {key: [id_of("dataset", key).bytes] for key in (0, other)}


def test_a_dataset_of_another_tenant_is_not_found(database: Database, other: int) -> None:
    with caller_of(other), database.read() as tx, pytest.raises(NotFound):
        lookup.visible_dataset(tx, id_of("dataset", 0), 1)
