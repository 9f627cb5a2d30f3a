"""Pages that the database puts together are those that are read row by row, field for field."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text

from meta import access
from meta.access import Principal
from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.services.lookup.assembled_pages import CheckedLookup
from meta.services.lookup.segment_lookup import SegmentLookupServicer
from meta.store.lookup.page_statement import DATASETS_MAX
from meta.store.segments import segments
from meta.v1.common_pb2 import (
    SIGNAL_LOGS,
    SIGNAL_METRICS,
    SIGNAL_TRACES,
    SegmentFacts,
    SignalFacts,
    TimeRange,
)
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest, FindSegmentsResponse
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

SECOND = 1_000_000_000
SIGNALS = (SIGNAL_LOGS, SIGNAL_TRACES, SIGNAL_METRICS)
INSERT = text("""
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
        tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events,
        prefix, object_name, facts, signals, crc32c, message)
    VALUES (:id, :key, :dur_class, :start, :end, :created, :removed,
        CASE WHEN cast(:removed AS bigint) IS NOT NULL THEN now() END, 1, 1, 1,
        :prefix, :name, :facts, :signals, :crc, :message)
""")

MANY_DATASETS = """
    WITH added AS (
        INSERT INTO datasets (id, name)
        SELECT gen_random_uuid(), 'many ' || n FROM generate_series(1, :count) n RETURNING key)
    INSERT INTO dataset_visibility (dataset_key, from_version) SELECT key, 1 FROM added
"""


def facts_of(version: int, signals: int, ids: int) -> bytes:
    times = TimeRange(start_time=SECOND, end_time=2 * SECOND)
    return SegmentFacts(
        format_version=version,
        signals=[
            SignalFacts(signal=n + 1, number_of_events=7**n % 10**9, time_range=times)  # type: ignore[arg-type]
            for n in range(signals)
        ],
        promoted_field_ids=range(1_000, 1_000 + ids),
    ).SerializeToString()


REGULAR_FACTS = [
    None,
    b"",
    facts_of(1, 1, 0),
    facts_of(1, 2, 3),
    *(facts_of(2, signals, ids) for signals in range(4) for ids in (0, 1, 2, 60)),
    facts_of(127, 1, 1),
]
# Each keeps its page from being put together by the database.
IRREGULAR: dict[str, Mapping[str, object]] = {
    "a row of a server before": {"message": None},
    "a high version": {"created": 2**42},
    "a high tombstone": {"removed": 2**42},
    "a long name": {"name": "n" * 128},
    "a long prefix": {"prefix": "p" * 128},
    "a very long name": {"name": "n" * 9_000},
    "four signals": {"facts": facts_of(2, 4, 1)},
    "many ids": {"facts": facts_of(2, 1, 100)},
    "a high format": {"facts": facts_of(128, 1, 1)},
    "no format": {"facts": facts_of(0, 1, 1)},
    "facts that end early": {"facts": facts_of(2, 1, 1)[:5]},
    "a byte of facts": {"facts": b"\x08"},
    "long facts": {"facts": facts_of(1, 14, 5_000)},
}


@dataclass
class Shelf:
    """Datasets with segments of every kind, written below the service."""

    server: MetaServer
    names: list[str]
    keys: dict[str, int] = field(default_factory=dict)
    ids: dict[str, UUID] = field(default_factory=dict)
    servicer: SegmentLookupServicer = field(init=False)

    def __post_init__(self) -> None:
        self.servicer = self.new_servicer()
        with self.server.running.database.read() as tx:
            for name, key, dataset_id in tx.execute(text("SELECT name, key, id FROM datasets")):
                self.keys[name], self.ids[name] = key, dataset_id

    def new_servicer(self) -> SegmentLookupServicer:
        return SegmentLookupServicer(
            Transactions(self.server.running.database), self.server.settings
        )

    def row(self, rng: random.Random, version: int, **given: object) -> dict[str, object]:
        name = rng.choice(self.names)
        dur_class = rng.choice((0, 1, 5))
        start = rng.randrange(50) * SECOND
        row: dict[str, Any] = {
            "id": UUID(int=rng.getrandbits(128)),
            "key": self.keys[name],
            "dur_class": dur_class,
            "start": start,
            "end": start + 4**dur_class * SECOND - rng.randrange(1, SECOND),
            "created": rng.randrange(1, version + 1),
            "removed": rng.choice((None, None, version + rng.randrange(1, 9))),
            "prefix": f"dataset/{self.ids[name]}/merged"[: rng.choice((0, 7, 200))],
            "name": "ü" * rng.choice((0, 1, 60)),
            "facts": rng.choice(REGULAR_FACTS),
            "signals": rng.choice((None, 2, 6, 8)),
            "crc": rng.choice((None, 0, 1, 0x12345678, 2**32 - 1)),
        } | given
        row["message"] = segments.write_message(
            row["id"],
            self.ids[name],
            (row["start"], row["end"]),
            (1, 1, 1),
            (row["prefix"], row["name"]),
            0,
        )
        return row | given

    def add(self, rows: list[dict[str, object]], version: int) -> None:
        with self.server.running.database.write() as tx:
            tx.execute(INSERT, rows)
            tx.execute(text("UPDATE meta_state SET version = :v"), {"v": version})

    def compare(self, request: FindSegmentsRequest) -> FindSegmentsResponse:
        """The page as the database assembles it, which is the one that is read row by row."""
        checked = CheckedLookup.of(request)
        assembled = self.servicer.assembled.find(checked)
        assert assembled is not None
        page = FindSegmentsResponse.FromString(assembled)
        by_rows = FindSegmentsResponse.FromString(self.new_servicer().by_rows(checked))
        for reply in (page, by_rows):
            if reply.page.next_cursor:
                # The second that the first page was read in differs.
                cursor = checked.decode(reply.page.next_cursor)
                request.cursor = reply.page.next_cursor
                reply.page.next_cursor = str((cursor.version, cursor.position))
        assert page == by_rows
        return page

    def walk(self, request: FindSegmentsRequest) -> int:
        """Compare the pages of a lookup; returns how many segments they have."""
        found = 0
        while True:
            page = self.compare(request)
            found += len(page.segments)
            if not page.page.HasField("next_cursor"):
                return found


@pytest.fixture
def shelf(meta_server: MetaServer, meta_client: MetaClient) -> Shelf:
    catalog = CatalogDriver(meta_client)
    names = [f"d{n}" for n in range(6)]
    for name in names:
        catalog.dataset(name)
    return Shelf(meta_server, names)


@contextmanager
def limited_to(ids: set[UUID] | None) -> Iterator[None]:
    principal = access.current.get()
    limited = Principal(principal.subject, principal.role, frozenset(ids)) if ids else principal
    token = access.current.set(limited)
    try:
        yield
    finally:
        access.current.reset(token)


def a_request(rng: random.Random, shelf: Shelf, version: int) -> FindSegmentsRequest:
    request = FindSegmentsRequest(limit=rng.choice((1, 3, 50, 1_000)))
    if rng.random() < 0.7:
        start = rng.randrange(-(10**9), 60 * SECOND)
        end = start + rng.choice((1, SECOND, 20 * SECOND))
        request.time_range.CopyFrom(TimeRange(start_time=start, end_time=end))
    if rng.random() < 0.5:
        request.dataset_names.extend(rng.sample(shelf.names, rng.randrange(1, 4)))
    if rng.random() < 0.3:
        request.signals.extend(rng.sample(SIGNALS, rng.randrange(1, 3)))
    if rng.random() < 0.5:
        request.as_of_version = rng.randrange(1, version + 1)
    return request


def test_assembled_pages_are_those_of_rows(shelf: Shelf) -> None:
    rng = random.Random(1)
    version, found = 1, 0
    for step in (20, 2**14, 2**28, 2**35):
        version += step
        shelf.add([shelf.row(rng, version) for _ in range(60)], version + 5)
        for number in range(8):
            request = a_request(rng, shelf, version)
            if request.limit < 50 and number % 4:
                request.limit = 1_000
            own = {shelf.ids[name] for name in request.dataset_names}
            with limited_to(own if rng.random() < 0.3 else None):
                found += shelf.walk(request)

    assert found > 500


def test_a_reader_of_some_datasets_gets_these_alone(shelf: Shelf) -> None:
    rng = random.Random(2)
    shelf.add([shelf.row(rng, 9) for _ in range(60)], 20)
    own = {shelf.ids["d1"], shelf.ids["d4"]}

    with limited_to(own):
        page = shelf.compare(FindSegmentsRequest())
    everything = shelf.compare(FindSegmentsRequest())

    assert {UUID(segment.dataset_id) for segment in page.segments} == own
    assert len(everything.segments) > len(page.segments)


@pytest.mark.parametrize("kind", IRREGULAR)
def test_a_row_of_another_kind_leaves_its_page_to_the_other_path(shelf: Shelf, kind: str) -> None:
    rng = random.Random(3)
    rows = [shelf.row(rng, 9, removed=None) for _ in range(20)]
    row = shelf.row(rng, 9, **{"removed": None, "facts": None} | dict(IRREGULAR[kind]))
    shelf.add([*rows, row], max(9, int(str(row["created"]))))
    checked = CheckedLookup.of(FindSegmentsRequest())

    assert shelf.servicer.assembled.find(checked) is None

    if "end" in kind or "byte" in kind:
        return
    page = FindSegmentsResponse.FromString(shelf.servicer.by_rows(checked))
    assert len(page.segments) == 21


def test_a_page_is_read_in_the_order_of_the_index_without_a_sort(shelf: Shelf) -> None:
    rng = random.Random(4)
    shelf.add([shelf.row(rng, 9) for _ in range(300)], 20)
    assembled = shelf.servicer.assembled
    checked = CheckedLookup.of(FindSegmentsRequest(limit=100))
    statement, values = assembled.statement.bound(assembled.query(checked))

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


def test_more_datasets_than_a_statement_looks_into(shelf: Shelf) -> None:
    with shelf.server.running.database.write() as tx:
        tx.execute(text(MANY_DATASETS), {"count": DATASETS_MAX})
        last = tx.execute(text("SELECT max(key) FROM datasets")).scalar_one()
    rng = random.Random(5)
    shelf.add([shelf.row(rng, 9, removed=None) for _ in range(20)], 20)
    shelf.add([shelf.row(rng, 9, removed=None, key=last)], 20)
    everything, page = FindSegmentsRequest(), FindSegmentsRequest(limit=10)

    # Their classes of duration are not known yet.
    assert shelf.servicer.assembled.find(CheckedLookup.of(page)) is None
    assert len(shelf.compare(page).segments) == 10
    assert shelf.servicer.assembled.find(CheckedLookup.of(everything)) is None
    found = FindSegmentsResponse.FromString(shelf.servicer.by_rows(CheckedLookup.of(everything)))
    assert len(found.segments) == 21
