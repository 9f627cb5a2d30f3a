"""Classes of duration that are remembered between lookups: none that a segment has is missing."""

import random

import pytest

from meta.client import MetaClient
from meta.store.lookup import held_classes
from meta.store.lookup.held_classes import NEW_SEGMENTS_MAX, SENT_MAX, HeldClasses, KnownClasses
from meta.store.lookup.page_statement import DATASETS_PROBED_MAX
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, Writer, segment_of
from tests.support.meta.server import MetaServer
from tests.support.meta.shelf import Shelf

SECOND = 1_000_000_000


@pytest.fixture
def shelf(meta_server: MetaServer) -> Shelf:
    return Shelf(meta_server)


def test_segments_of_new_classes_are_found(shelf: Shelf) -> None:
    shelf.add_datasets(DATASETS_PROBED_MAX + 5)
    rng = random.Random(3)
    for version in range(10, 30):
        count = rng.choice((0, 1, 30))
        rows = [shelf.row(rng, version, removed=None, created=version) for _ in range(count)]
        shelf.add(rows, version)

        shelf.walk(FindSegmentsRequest(limit=rng.choice((7, 1_000))))

    with shelf.server.running.database.read() as tx:
        read = held_classes.read(tx, list(shelf.keys.values()))
    expected = dict.fromkeys(shelf.keys.values(), 0)
    for row in shelf.rows:
        expected[row["key"]] |= 1 << row["dur_class"]
    assert read == expected


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_classes_are_found_anew_after_many_new_segments(shelf: Shelf, more: int) -> None:
    shelf.add_datasets(DATASETS_PROBED_MAX + 5)
    rng = random.Random(4)
    times = {"start": 1, "end": 2, "removed": None, "dataset": "many 7"}
    shelf.add([shelf.row(rng, 9, dur_class=0, created=1, **times)], 9)
    shelf.walk(FindSegmentsRequest())
    later = times | {"end": 2 + 4**3 * SECOND, "created": 21}
    rows = [
        shelf.row(rng, 20, dur_class=0, created=20, **times)
        for _ in range(NEW_SEGMENTS_MAX - 1 + more)
    ]
    shelf.add([*rows, shelf.row(rng, 21, dur_class=4, **later)], 30)

    shelf.walk(FindSegmentsRequest())
    shelf.walk(FindSegmentsRequest())


def test_classes_of_a_later_counter_are_not_used_for_an_earlier_one(shelf: Shelf) -> None:
    shelf.add_datasets(DATASETS_PROBED_MAX + 5)
    shelf.add([], 90)
    shelf.walk(FindSegmentsRequest())
    rng = random.Random(5)

    # As after a restore: the counter is behind, and a version comes again.
    shelf.add([shelf.row(rng, 50, removed=None, created=50)], 50)

    assert shelf.walk(FindSegmentsRequest()) == [1]


@pytest.mark.parametrize(("more", "left"), [(0, 3), (1, 1)])
def test_a_bounded_number_of_datasets_is_remembered(
    monkeypatch: pytest.MonkeyPatch, more: int, left: int
) -> None:
    monkeypatch.setattr(held_classes, "DATASETS_MAX", 3 - more)
    remembered = HeldClasses()

    remembered.learn([(7_001, 1), (7_002, 1)], 1)
    remembered.learn([(7_003, 1)], 1)

    assert len(remembered._known) == left


def test_a_lookup_of_many_datasets_finds_new_classes(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer
) -> None:
    datasets = [catalog.dataset(f"d{n}") for n in range(DATASETS_PROBED_MAX + 1)]
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
