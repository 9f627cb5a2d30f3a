"""A lookup over many datasets: the pages are those of each dataset, for few probes of the index."""

import random
from functools import partial
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.store.engine.pool import Database, Transaction
from meta.store.lookup import lookup
from meta.store.lookup.lookup import FoundSegment, Query, VisibleDataset
from tests.support.meta.plans import probes_made
from tests.support.meta.server import MetaServer

DATASETS = lookup.DATASETS_AT_ONCE + 20
DAY_NANOS = 86_400_000_000_000
FILL = (
    """
    INSERT INTO datasets (id, name)
    SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'dataset ' || n
    FROM generate_series(1, :datasets) n
    """,
    # Of every fifth dataset nothing, of the others up to three classes of duration. Class c is
    # shorter than 4^c seconds.
    """
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, size_bytes,
        compressed_size_bytes, number_of_events, prefix, object_name)
    SELECT gen_random_uuid(), d.key, c, day * :day, day * :day + (4::numeric ^ c - 1) * 500000000,
           1, 1, 1, 1, 'dataset', gen_random_uuid() || '.parquet'
    FROM datasets d, generate_series(1, 3) day, unnest(ARRAY[0, 4, 8]) c
    WHERE d.name LIKE 'dataset %' AND d.key % 5 > 0 AND (d.key % 5 > 2 OR c = 4)
    """,
)


@pytest.fixture
def database(meta_server: MetaServer) -> Database:
    database = meta_server.running.database
    with database.write() as tx:
        for statement in FILL:
            values = {"datasets": DATASETS, "day": DAY_NANOS}
            tx.execute(text(statement), values)
    with database.single() as tx:
        tx.execute(text("VACUUM ANALYZE segments"))
    return database


def everything(tx: Transaction) -> list[VisibleDataset]:
    return [VisibleDataset(*row) for row in tx.execute(text("SELECT key, id FROM datasets"))]


def by_position(found: list[FoundSegment]) -> list[tuple[int, int, int, UUID]]:
    positions = [one.position() for one in found]
    return [(p.dataset_key, p.dur_class, p.start_ns, p.segment_id) for p in positions]


def test_pages_over_all_datasets_are_those_of_each_dataset(database: Database) -> None:
    rng = random.Random(5)
    with database.read() as tx:
        datasets = sorted(everything(tx), key=lambda dataset: dataset.key)
        for _ in range(5):
            start = rng.randrange(3 * DAY_NANOS)
            query = Query(start, start + DAY_NANOS + rng.randrange(DAY_NANOS), 1)
            expected = [
                position
                for dataset in datasets
                for position in by_position(lookup.find(tx, query, [dataset], 1_000))
            ]

            found: list[FoundSegment] = []
            while True:
                page = lookup.find(tx, query, datasets, 97)
                found += page
                if len(page) < 97:
                    break
                query = Query(query.start_ns, query.last_ns, 1, page[-1].position())

            assert by_position(found) == expected
            assert expected


def test_classes_of_duration_that_a_dataset_does_not_have_are_not_probed(
    database: Database,
) -> None:
    with database.read() as tx:
        datasets = everything(tx)
        pairs = tx.execute(text("SELECT count(DISTINCT (dataset_key, dur_class)) FROM segments"))
        held = int(pairs.scalar_one())
    assert held > len(datasets)

    # Nothing is as old, so that no limit ends the lookup early.
    query = Query(-2, -1, 1)
    made = probes_made(database, partial(lookup.find, query=query, datasets=datasets, most=1_000))

    # A leap to each class and one to the end of each dataset, then a look into each class.
    assert held < made <= 2 * held + len(datasets)
