"""Pages of encoded segments are those of a model of messages, field for field."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.services.lookup.checked_lookup import CheckedLookup
from meta.store.lookup.page_statement import DATASETS_MAX, DATASETS_PROBED_MAX
from meta.v1.common_pb2 import TimeRange
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from tests.support.meta import kept_messages
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.shelf import SECOND, UNREADABLE, Shelf, a_request, facts_of, limited_to

UNUSUAL: dict[str, Mapping[str, object]] = {
    "a high version": {"created": 2**42 - 1},
    "a higher version": {"created": 2**42},
    "the highest version": {"created": 2**63 - 2},
    "a high version and no checksum": {"created": 2**42, "crc": None},
    "a high tombstone": {"removed": 2**42 - 1},
    "a higher tombstone": {"removed": 2**42},
    "the highest tombstone": {"removed": 2**63 - 1},
    "a name of 127 bytes": {"name": "n" * 127},
    "a name of 128 bytes": {"name": "n" * 128},
    "a prefix of 127 bytes": {"prefix": "p" * 127},
    "a prefix of 128 bytes": {"prefix": "p" * 128},
    "the longest key": {"prefix": "p" * 640, "name": "n" * 255},
    "four signals": {"facts": facts_of(2, 4, 1)},
    "four signals and no columns": {"facts": facts_of(2, 4, 0)},
    "all signals": {"facts": facts_of(2, 14, 200)},
    "many ids": {"facts": facts_of(2, 1, 64)},
    "all ids": {"facts": facts_of(2**15 - 1, 14, 1_100)},
    "ids of the first format": {"facts": facts_of(1, 14, 1_100)},
    "a format of two bytes": {"facts": facts_of(128, 1, 1)},
    "no format": {"facts": facts_of(0, 1, 1)},
    "only a format": {"facts": facts_of(2, 0, 0)},
    "no signals": {"facts": facts_of(2, 0, 1)},
    "a foreign file": {"file": UNREADABLE, "facts": None},
    "a foreign file with all": {
        "file": UNREADABLE,
        "facts": facts_of(0, 3, 0),
        "prefix": "p" * 640,
        "removed": 2**62,
    },
    "an empty foreign file": {"file": b""},
}


@pytest.fixture
def shelf(meta_server: MetaServer, meta_client: MetaClient) -> Shelf:
    catalog = CatalogDriver(meta_client)
    for number in range(6):
        catalog.dataset(f"d{number}")
    return Shelf(meta_server)


def test_pages_are_those_of_a_model(shelf: Shelf) -> None:
    rng = random.Random(1)
    names = sorted(shelf.keys)
    version, found = 1, 0
    for step in (20, 2**14, 2**28, 2**35, 2**42):
        version += step
        shelf.add([shelf.row(rng, version) for _ in range(60)], version + 5)
        for number in range(8):
            request = a_request(rng, names, version)
            if request.limit < 50 and number % 4:
                request.limit = 1_000
            own = {shelf.ids[name] for name in request.dataset_names}
            with limited_to(own if rng.random() < 0.3 else None):
                found += sum(shelf.walk(request))

    assert found > 500


def test_a_reader_of_some_datasets_gets_these_alone(shelf: Shelf) -> None:
    rng = random.Random(2)
    shelf.add([shelf.row(rng, 9) for _ in range(60)], 20)

    with limited_to({shelf.ids["d1"], shelf.ids["d4"]}):
        (own,) = shelf.walk(FindSegmentsRequest())
    (everything,) = shelf.walk(FindSegmentsRequest())

    assert 0 < own < everything


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", UNUSUAL)
def test_a_segment_of_an_unusual_kind_is_encoded_like_any_other(shelf: Shelf, kind: str) -> None:
    rng = random.Random(3)
    unusual = shelf.row(rng, 9, **{"removed": None, **UNUSUAL[kind]})
    version = max(9, unusual["created"])
    rows = [shelf.row(rng, 9, removed=None) for _ in range(20)]

    shelf.add([*rows, unusual], version)

    assert shelf.walk(FindSegmentsRequest(limit=4)) == [4, 4, 4, 4, 4, 1]


def test_a_row_without_its_message_is_reported_until_it_is_filled(shelf: Shelf) -> None:
    rng = random.Random(6)
    shelf.add([shelf.row(rng, 9, removed=None) for _ in range(5)], 9)
    database = shelf.server.running.database
    with database.write() as tx:
        tx.execute(text("UPDATE segments SET message = NULL"))

    with pytest.raises(AssertionError, match="5 of 5 segments do not keep their message"):
        shelf.walk(FindSegmentsRequest())

    with database.single() as tx:
        kept_messages.fill(tx)
    assert shelf.walk(FindSegmentsRequest()) == [5]


def test_a_page_is_read_in_the_order_of_the_index_without_a_sort(shelf: Shelf) -> None:
    rng = random.Random(4)
    shelf.add([shelf.row(rng, 9) for _ in range(300)], 20)
    query = shelf.servicer.pages.query(CheckedLookup.of(FindSegmentsRequest(limit=100)))
    statement, values = shelf.servicer.statements.bound(query)

    with shelf.server.running.database.engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        for mode in ("force_generic_plan", "force_custom_plan"):
            driver.execute(f"SET LOCAL plan_cache_mode = {mode}")
            cursor = psycopg.RawCursor(driver)
            cursor.execute(b"EXPLAIN (VERBOSE, FORMAT JSON) " + statement, values)
            row = cursor.fetchone()
            assert row is not None
            (plan,) = row[0]

            sorts = [key for node in nodes(plan["Plan"]) for key in node.get("Sort Key", [])]

            assert sorts
            assert not [key for key in sorts if "place" in key or "start_ns" in key]


def nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A plan and all below it."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("size", [DATASETS_PROBED_MAX, DATASETS_MAX, 2 * DATASETS_MAX])
def test_a_page_of_many_datasets_is_read_in_parts(shelf: Shelf, size: int, more: int) -> None:
    shelf.add_datasets(size + more - len(shelf.keys))
    rng = random.Random(5)
    last = max(shelf.keys, key=lambda name: shelf.keys[name])
    rows = [shelf.row(rng, 9, removed=None, dataset=f"d{n % 6}") for n in range(20)]
    shelf.add([*rows, shelf.row(rng, 9, removed=None, dataset=last)], 20)

    # Of the first lookup no classes are known.
    for limit, sizes in ((1_000, [21]), (21, [21]), (20, [20, 1]), (19, [19, 2])):
        assert shelf.walk(FindSegmentsRequest(limit=limit)) == sizes
        shelf.restart()
        assert shelf.walk(FindSegmentsRequest(limit=limit)) == sizes
    start = max(row["end"] for row in shelf.rows) + 1
    nothing = TimeRange(start_time=start, end_time=start + SECOND)
    assert shelf.walk(FindSegmentsRequest(time_range=nothing)) == [0]


def test_the_last_segment_of_a_page_is_found_whatever_its_dataset_is_called(shelf: Shelf) -> None:
    rng = random.Random(7)
    shelf.add([shelf.row(rng, 9, removed=None) for _ in range(30)], 9)

    assert shelf.walk(FindSegmentsRequest(limit=1)) == [1] * 30
