"""ExplainDataset reads the rows of its dataset, whatever the others have."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import text

from meta.store.damage import parked_streams
from meta.store.deletion import deletion_brakes, retention
from meta.store.engine.pool import Database, Transaction
from meta.store.merging import merge_debt
from meta.store.merging.merge_debt import DayLimits
from meta.store.pins import pin_lists
from meta.store.registration import quarantined_ranges
from meta.store.status import processes
from meta.store.streams import dataset_sources, detached_streams
from meta.store.workers import seen, settings
from tests.meta.test_plan_shapes import filled
from tests.support.meta.plans import rows_of_statements
from tests.support.meta.server import MetaServer

ROWS = 15_000
LIMITS = DayLimits(16, 4, 3_600.0)
# Streams of the explained dataset.
STREAMS = 10
FILL = (
    """
    INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset, changed_version)
    SELECT s.id, d.id, 9, -1, 0
    FROM (SELECT id FROM ingest_streams ORDER BY id LIMIT :streams) s, datasets d
    WHERE d.name = 'dataset 3'
    """,
    """
    INSERT INTO quarantined_ranges (stream_id, verdict, first_offset, last_offset, dataset_id)
    SELECT s.id, 'v', 1, 2, d.id FROM ingest_streams s, datasets d WHERE d.name = 'dataset 1'
    """,
    """
    INSERT INTO processes SELECT 'collector', n::text, 1, '', '', false, 0, 0, 1, n
    FROM generate_series(1, 10000) n
    """,
    "INSERT INTO workers (id) SELECT 'collector/' || n FROM generate_series(1, 10000) n",
)


@pytest.fixture(scope="module")
def database(module_meta: MetaServer) -> Database:
    """Give a database with many streams, segments and tasks of other datasets."""
    database = filled(module_meta.running.database, ROWS)
    with database.write() as tx:
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        for statement in FILL:
            tx.execute(text(statement), {"streams": STREAMS})
    with database.single() as tx:
        tx.execute(text("SET statement_timeout = 0"))
        tx.execute(text("VACUUM ANALYZE"))
        tx.execute(text("RESET statement_timeout"))
    return database


def calls(database: Database) -> dict[str, Callable[[Transaction], object]]:
    with database.read() as tx:
        statement = text("SELECT id, key FROM datasets WHERE name = 'dataset 3'")
        dataset_id, key = tx.execute(statement).one()
        entries = text("SELECT stream_id FROM stream_datasets WHERE dataset_id = :dataset LIMIT 10")
        streams = list(tx.execute(entries, {"dataset": dataset_id}).scalars())
    assert len(streams) == STREAMS
    return {
        "sources": partial(dataset_sources.sources, dataset_id=dataset_id),
        "detached": partial(detached_streams.of_dataset, dataset_id=dataset_id, most=1_000),
        "parked": partial(parked_streams.among, stream_ids=streams),
        "quarantined": partial(quarantined_ranges.of_dataset, dataset_id=dataset_id),
        "debt": partial(merge_debt.of_dataset, dataset_key=key, limits=LIMITS),
        "tasks": partial(merge_debt.open_tasks, dataset_key=key),
        "excluded": partial(merge_debt.excluded, dataset_key=key, most=1_000),
        "brake": partial(deletion_brakes.find, dataset_key=key),
        "pins": partial(pin_lists.of_dataset, dataset_key=key),
        "retention": partial(retention.next_expiry_nanos, dataset_key=key),
        "processes": partial(processes.latest, kind="nursery", most=100),
        "workers": partial(seen.recent_ids, kind="merge_worker", secs=150.0, most=100),
        "settings": partial(settings.in_force_for, worker_ids=["merge_worker/a"]),
    }


@pytest.mark.database_owner
@pytest.mark.one_meta
def test_each_part_reads_the_rows_of_its_dataset(database: Database) -> None:
    read = {
        name: sum(rows_of_statements(database, work, is_small=name in ("settings", "brake")))
        for name, work in calls(database).items()
    }

    assert {name: count for name, count in read.items() if count > 200} == {}
