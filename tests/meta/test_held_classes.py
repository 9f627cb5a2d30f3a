"""Classes of duration that are remembered between lookups: none that a segment has is missing."""

import random

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.store.engine.pool import Database, Transaction
from meta.store.lookup import held_classes, lookup
from meta.store.lookup.held_classes import SENT_MAX, HeldClasses, KnownClasses
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, Writer, segment_of
from tests.support.meta.server import MetaServer

SECOND = 1_000_000_000
INSERT = text("""
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, size_bytes,
        compressed_size_bytes, number_of_events, prefix, object_name)
    SELECT gen_random_uuid(), :key, :dur_class, 1, 2, :version, 1, 1, 1, 'dataset', ''
    FROM generate_series(1, :count)
""")


@pytest.fixture
def database(meta_server: MetaServer) -> Database:
    return meta_server.running.database


def insert(tx: Transaction, key: int, dur_class: int, version: int, count: int = 1) -> None:
    values = {"key": key, "dur_class": dur_class, "version": version, "count": count}
    tx.execute(INSERT, values)


def pairs(literals: tuple[str, str]) -> list[tuple[int, int]]:
    keys, classes = (
        [int(item) for item in literal[1:-1].split(",") if item] for literal in literals
    )
    return list(zip(keys, classes, strict=True))


def test_remembered_classes_are_those_of_the_table(database: Database) -> None:
    rng = random.Random(3)
    remembered = HeldClasses()
    keys = [7_001, 7_002, 7_003]
    with database.write() as tx:
        for version in range(1, 60):
            for _ in range(rng.choice((0, 1, 3))):
                insert(tx, rng.choice(keys), rng.randrange(18), version)
            asked = rng.sample(keys, rng.randrange(4))

            found = remembered.find(tx, asked, version)

            read = held_classes.read(tx, asked)
            assert pairs(found) == [(key, c) for key in asked for c in sorted(read[key].classes)]


@pytest.mark.parametrize("count", [99, 100, 101])
def test_classes_are_found_anew_after_many_new_segments(database: Database, count: int) -> None:
    assert held_classes.NEW_SEGMENTS_MAX == 100
    remembered = HeldClasses()
    with database.write() as tx:
        insert(tx, 7_001, 4, 1)
        remembered.find(tx, [7_001], 1)
        insert(tx, 7_001, 5, 2, count - 1)
        insert(tx, 7_001, 6, 3)

        found = remembered.find(tx, [7_001], 3)

        assert pairs(found) == [(7_001, 4), (7_001, 5), (7_001, 6)]


def test_what_a_later_counter_told_is_not_used_for_an_earlier_one(database: Database) -> None:
    remembered = HeldClasses()
    with database.write() as tx:
        remembered.find(tx, [7_001], 9)
        # As after a restore: the counter is behind, and a version comes again.
        insert(tx, 7_001, 4, 5)

        assert pairs(remembered.find(tx, [7_001], 5)) == [(7_001, 4)]


@pytest.mark.parametrize(("more", "left"), [(0, 3), (1, 1)])
def test_a_bounded_number_of_datasets_is_remembered(
    database: Database, monkeypatch: pytest.MonkeyPatch, more: int, left: int
) -> None:
    monkeypatch.setattr(held_classes, "DATASETS_MAX", 3 - more)
    remembered = HeldClasses()
    with database.read() as tx:
        remembered.find(tx, [7_001, 7_002], 1)
        remembered.find(tx, [7_003], 1)

    assert len(remembered._known) == left


def test_a_lookup_of_many_datasets_finds_new_classes(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer
) -> None:
    datasets = [catalog.dataset(f"d{n}") for n in range(lookup.DATASETS_PROBED_MAX + 1)]
    saved: set[str] = set()
    for seconds in (0, 100, 10_000, 5, 1_000_000, 0):
        dataset = datasets[seconds % len(datasets)]
        saved.update(writer.save(segment_of(dataset, EPOCH, EPOCH + seconds * SECOND)))

        assert set(writer.find_ids()) == saved


def test_of_many_datasets_those_that_a_page_begins_with_are_sent() -> None:
    remembered = HeldClasses()
    remembered.learn([(key, 0b101) for key in range(SENT_MAX, 0, -1)], 7)
    assert remembered.known(5).keys.count(",") == SENT_MAX - 1

    remembered.learn([(SENT_MAX + 3, 0b1), (SENT_MAX + 2, 0b10)], 8)

    assert remembered.known(0).keys == f"{{{','.join(map(str, range(1, SENT_MAX + 1)))}}}"
    assert remembered.known(SENT_MAX - 1) == KnownClasses(
        f"{{{SENT_MAX - 1},{SENT_MAX},{SENT_MAX + 2},{SENT_MAX + 3}}}", "{7,7,8,8}", "{5,5,2,1}"
    )
    assert remembered.known(SENT_MAX + 4) == KnownClasses()
