"""A lookup over many datasets: the pages are those of each dataset, for few probes of the index."""

import random
from functools import partial

import pytest
from sqlalchemy import text

from meta.store.engine.pool import Database
from meta.store.lookup import held_classes
from meta.store.lookup.held_classes import HeldClasses
from meta.store.lookup.page_statement import PageQuery
from tests.support.meta import kept_messages
from tests.support.meta.page_reads import read_page
from tests.support.meta.plans import probes_made
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

DATASETS = 270
DAY_NANOS = 86_400_000_000_000
FILL = (
    """
    INSERT INTO datasets (id, name)
    SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'dataset ' || n
    FROM generate_series(1, :datasets) n
    """,
    "UPDATE meta_state SET version = 1",
    "INSERT INTO dataset_visibility (dataset_key, from_version)"
    " SELECT key, 0 FROM datasets ON CONFLICT DO NOTHING",
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
            tx.execute(text(statement), {"datasets": DATASETS, "day": DAY_NANOS})
    with database.single() as tx:
        kept_messages.fill(tx)
        tx.execute(text("VACUUM ANALYZE segments"))
    return database


@pytest.mark.long
def test_pages_over_all_datasets_are_those_of_each_dataset(
    database: Database, writer: Writer
) -> None:
    rng = random.Random(5)
    with database.read() as tx:
        names = list(tx.execute(text("SELECT name FROM datasets ORDER BY key")).scalars())
    for _ in range(3):
        start = rng.randrange(3 * DAY_NANOS)
        end = start + DAY_NANOS + rng.randrange(DAY_NANOS)
        expected = []
        for name in names:
            expected += writer.find_ids(name, start=start, end=end)

        found = writer.find_ids(start=start, end=end, limit=97)

        assert found == expected
        assert expected


def test_classes_of_duration_that_a_dataset_does_not_have_are_not_probed(
    database: Database,
) -> None:
    known = HeldClasses()
    with database.read() as tx:
        keys = list(tx.execute(text("SELECT key FROM datasets")).scalars())
        pairs = tx.execute(text("SELECT count(DISTINCT (dataset_key, dur_class)) FROM segments"))
        held = int(pairs.scalar_one())
        known.learn(held_classes.read(tx, keys).items(), 1)
    # Nothing is as old, so that no limit ends the lookup early.
    query = PageQuery(-2, -1, 1_000, classes=known.known(0))

    made = probes_made(database, partial(read_page, query=query))

    # A look at the dataset and for new segments of each, then a look into each class.
    assert held < made <= held + 3 * len(keys) + 20
