"""Statements of hot calls and of periodic jobs read what they return or change, not the history."""

from collections.abc import Callable, Iterator
from functools import partial
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.store.checks import ledger_checks
from meta.store.deletion import deletion_plans, lifetimes, retention, tombstones
from meta.store.deletion.deletion_plans import DeletionPlan, DeletionScope
from meta.store.deletion.lifetimes import Ages, ExpiryRule
from meta.store.engine.pool import Database, Transaction
from meta.store.lookup.page_statement import PageQuery
from meta.store.merging import merge_claims, merge_planning, size_tiers
from meta.store.merging.merge_claims import Poll
from meta.store.merging.merge_planning import SegmentFilter
from meta.store.streams import commits, stream_reads
from meta.store.streams.commits import OffsetCommit
from meta.store.streams.stream_reads import StreamScope
from meta.store.versions import versions
from tests.support.meta.page_reads import read_page
from tests.support.meta.plans import executions_max, rows_of_statements, rows_read
from tests.support.meta.server import MetaServer

# Rows of each table; the slow run shows that the figures do not grow with them.
HISTORY = [15_000, pytest.param(300_000, marks=(pytest.mark.slow, pytest.mark.timeout(1800)))]
HOUR_NANOS = 3_600_000_000_000
AGES = Ages(86_400.0, 2_100.0, 86_400.0, 604_800.0, 2_592_000.0, 2_592_000.0, 7e6, 604_800.0)
# A page of streams with an entry and a head each, and what a rule looks up for them.
RULE_ROWS_MAX = 5 * lifetimes.KEYS_AT_ONCE
# A page of a walk through a whole table.
PAGE_ROWS = 2_000
FILL = (
    """
    INSERT INTO datasets (id, name, tombstone_grace_secs)
    SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'dataset ' || n,
           CASE WHEN n = 1 THEN 31536000 END
    FROM generate_series(1, 3) n
    """,
    "INSERT INTO dataset_stats (dataset_key) SELECT key FROM datasets ON CONFLICT DO NOTHING",
    # Of the first dataset everything is a tombstone inside its grace, of the others nothing is.
    """
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
        tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events,
        prefix, object_name)
    SELECT gen_random_uuid(), d.key, 6, n * :hour, (n + 1) * :hour, 1,
        CASE WHEN d.name = 'dataset 1' THEN 2 END,
        CASE WHEN d.name = 'dataset 1' THEN now() - interval '1 day' END,
        1, 300000000, 1, 'dataset', n || '.parquet'
    FROM generate_series(1, :rows) n, datasets d WHERE d.name LIKE 'dataset %'
    """,
    """
    WITH made AS (INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
        SELECT gen_random_uuid(), n::text, '', n FROM generate_series(1, :rows) n RETURNING id),
    heads AS (INSERT INTO stream_heads (stream_id, committed_offset, is_pending)
        SELECT id, 9, false FROM made),
    periods AS (INSERT INTO routing_periods (stream_id, token_id, from_offset)
        SELECT id, id, 0 FROM made),
    points AS (INSERT INTO offset_checkpoints
            (stream_id, dataset_id, version, stream_offset, ingest_timestamp_nanos)
        SELECT m.id, d.id, 1, 9, 1 FROM made m, datasets d WHERE d.name = 'dataset 1')
    INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset, changed_version)
    SELECT m.id, d.id, 9, -1, 0 FROM made m, datasets d WHERE d.name = 'dataset 1'
    """,
    """
    INSERT INTO merge_tasks (id, dataset_key, output_merge_count, segment_count, smallest_size,
        largest_size, smallest_compressed_size, largest_compressed_size, total_size,
        total_compressed_size, start_ns, end_ns)
    SELECT gen_random_uuid(), key, 1, 1, 1, 1, 1, 1, 1, n, 1, 1
    FROM generate_series(1, :rows) n, datasets WHERE name = 'dataset 2'
    """,
    """
    INSERT INTO registrations (stream_id, dataset_id, start_offset, end_offset, ingest_time_nanos,
        version, segment_id)
    SELECT id, id, 0, 1, 1, 1, id FROM ingest_streams
    """,
    "INSERT INTO merge_task_inputs (segment_id, task_id, position)"
    " SELECT gen_random_uuid(), gen_random_uuid(), 0 FROM generate_series(1, :rows)",
    """
    INSERT INTO dataset_usage (dataset_id, month, slot, records)
    SELECT id, '2099-01', n, 1 FROM generate_series(1, :rows) n, datasets WHERE name = 'dataset 2'
    """,
)


@pytest.fixture(scope="module", params=HISTORY, ids=str)
def database(module_meta: MetaServer, request: pytest.FixtureRequest) -> Database:
    """Give a database with a long history and nothing to do; the tests change nothing in it."""
    return filled(module_meta.running.database, request.param)


def filled(database: Database, rows: int) -> Database:
    with database.write() as tx:
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        for statement in FILL:
            tx.execute(text(statement), {"rows": rows, "hour": HOUR_NANOS})
    with database.single() as tx:
        tx.execute(text("SET statement_timeout = 0"))
        tx.execute(text("VACUUM ANALYZE"))
        tx.execute(text("RESET statement_timeout"))
    return database


@pytest.fixture(autouse=True)
def first_pages() -> Iterator[None]:
    """Leave the rules' pages where the tests of other databases expect them."""
    yield
    for pages in (
        lifetimes._pending_pages,
        lifetimes._checkpoint_pages,
        lifetimes._period_pages,
        lifetimes._usage_pages,
    ):
        pages.last = (UUID(int=0), UUID(int=0))


def key_of(tx: Transaction, name: str) -> int:
    return int(
        tx.execute(text("SELECT key FROM datasets WHERE name = :n"), {"n": name}).scalar_one()
    )


def find_hour(tx: Transaction) -> int:
    query = PageQuery(500 * HOUR_NANOS + 1, 501 * HOUR_NANOS - 1, 1_000, names=["dataset 2"])
    return len(read_page(tx, query).pairs)


CALLS: dict[str, Callable[[Transaction], object]] = {
    "deletion with nothing due": lambda tx: tombstones.hand_out(tx, grace_secs=2_100, most=1_000),
    "retention with nothing expired": retention.bury_expired,
    "a lookup of an hour": find_hour,
    "a poll for changes": lambda tx: stream_reads.read_streams(
        tx, StreamScope(versions.current(tx)), 2_100
    ),
    "a claim": lambda tx: merge_claims.claim_batch(tx, [Poll("worker", False)], 60.0),
    "planning with nothing small": lambda tx: merge_planning.candidates(
        tx, key_of(tx, "dataset 2"), SegmentFilter()
    ),
}


def check_ledger(kind: str, tx: Transaction) -> None:
    position, most = None, 10
    while True:
        page = ledger_checks.read_page(tx, kind, position, most, rows_at_once=PAGE_ROWS)
        position = page.next_position
        if position is None:
            return


def count_streams(tx: Transaction) -> None:
    position = None
    while True:
        _, position = ledger_checks.count_streams(tx, position, rows_at_once=PAGE_ROWS)
        if position is None:
            return


WALKS: dict[str, Callable[[Transaction], object]] = {
    **{kind: partial(check_ledger, kind) for kind in ledger_checks.KINDS},
    "count of streams": count_streams,
    "GetSegmentSizeStats": lambda tx: size_tiers.read(
        tx, None, SegmentFilter(max_compressed_size=1), rows_at_once=PAGE_ROWS
    ),
}


@pytest.mark.database_owner
def test_calls_and_walks_read_no_more_than_they_return_or_a_page(database: Database) -> None:
    """One test, because the fill is what takes time."""
    set_retention(database)

    read = {name: rows_read(database, work) for name, work in CALLS.items()}
    pages = {
        name: max(rows_of_statements(database, work, is_small=True)) for name, work in WALKS.items()
    }

    assert {name: count for name, count in read.items() if count > 200} == {}
    # Each row of a page with a few that belong to it.
    assert {name: count for name, count in pages.items() if count > 5 * PAGE_ROWS} == {}


def test_a_batch_of_commits_costs_in_proportion_to_its_calls(meta_server: MetaServer) -> None:
    database = filled(meta_server.running.database, rows=300)

    def work(tx: Transaction) -> object:
        (dataset_id,) = tx.execute(text("SELECT id FROM datasets WHERE name = 'dataset 1'")).one()
        streams = tx.execute(text("SELECT stream_id FROM stream_heads LIMIT 200")).scalars()
        batch = [
            OffsetCommit(stream_id, 10, 1, 2, 1, 1, b"", (dataset_id,), (1,))
            for stream_id in streams
        ]
        return commits.commit_batch(tx.exec_driver_sql, batch)

    # A join of the calls with one another would be 40,000.
    assert executions_max(database, work) <= 2 * 200


def set_retention(database: Database) -> None:
    statement = "UPDATE datasets SET event_retention_secs = 3000000000 WHERE name = 'dataset 2'"
    with database.write() as tx:
        tx.execute(text(statement))


@pytest.mark.database_owner
def test_a_plan_of_deletion_reads_the_segments_that_fall_due(database: Database) -> None:
    set_retention(database)

    def plan(tx: Transaction) -> DeletionPlan:
        scope = DeletionScope(key_of(tx, "dataset 2"), 2_100, 604_800, 1_000)
        return deletion_plans.make(tx, scope)

    read = rows_read(database, plan, is_small=True)

    assert read <= 200


def run(rule: ExpiryRule, tx: Transaction) -> int:
    return rule.run(tx, AGES)


@pytest.mark.database_owner
def test_rules_with_nothing_to_do_read_a_page_of_streams_at_most(database: Database) -> None:
    set_retention(database)
    rules: tuple[ExpiryRule, ...] = (*lifetimes.FREQUENT, *lifetimes.SLOW)

    read = {rule.name: rows_read(database, partial(run, rule), is_small=True) for rule in rules}

    assert {name: count for name, count in read.items() if count > RULE_ROWS_MAX} == {}
    bounded = {"backlog", "checkpoints", "entries", "routing_periods"}
    assert {name for name, count in read.items() if count > 200} <= bounded
