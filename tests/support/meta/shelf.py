"""Datasets with segments of every kind, written below the service, and a model of their pages."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text

from meta import access
from meta.access import Principal, TenantScope
from meta.commits.transactions import Transactions
from meta.services.lookup.checked_lookup import CheckedLookup
from meta.services.lookup.segment_lookup import SegmentLookupServicer
from meta.services.messages import convert
from meta.store.engine import scope
from meta.store.lookup.lookup import INT64_MAX, INT64_MIN
from meta.store.segments import segments
from meta.store.segments.segments import SegmentRow
from meta.v1.common_pb2 import (
    SIGNAL_LOGS,
    SIGNAL_METRICS,
    SIGNAL_TRACES,
    ForeignFile,
    PromotedColumn,
    SegmentFacts,
    SegmentInfo,
    Signal,
    SignalFacts,
    TimeRange,
)
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest, FindSegmentsResponse, SegmentLayout
from tests.support.meta.server import MetaServer

SECOND = 1_000_000_000
SIGNALS = (SIGNAL_LOGS, SIGNAL_TRACES, SIGNAL_METRICS)
# Facts of this format and later ones have the ids of promoted columns.
_FORMAT_WITH_IDS = 2
_INSERT = text("""
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
        tombstone_version, tombstone_at, size_bytes, compressed_size_bytes, number_of_events,
        prefix, object_name, facts, signals, crc32c, foreign_state, foreign_file, message)
    VALUES (:id, :key, :dur_class, :start, :end, :created, :removed,
        CASE WHEN cast(:removed AS bigint) IS NOT NULL THEN now() END, 1, 1, 1,
        :prefix, :name, :facts, :signals, :crc,
        CASE WHEN cast(:file AS bytea) IS NOT NULL THEN 1 END, :file, :message)
""")
_MANY_DATASETS = text("""
    WITH added AS (
        INSERT INTO datasets (id, name)
        SELECT gen_random_uuid(), 'many ' || n FROM generate_series(1, :count) n RETURNING key)
    INSERT INTO dataset_visibility (dataset_key, from_version) SELECT key, 1 FROM added
""")


def facts_of(version: int, signals: int, ids: int) -> bytes:
    """Facts with so many signals and promoted columns."""
    times = TimeRange(start_time=SECOND, end_time=2 * SECOND)
    return SegmentFacts(
        format_version=version,
        signals=[
            SignalFacts(signal=n + 1, number_of_events=7**n % 10**9, time_range=times)  # type: ignore[arg-type]
            for n in range(signals)
        ],
        promoted_field_ids=range(1_000, 1_000 + ids),
    ).SerializeToString()


FACTS = [
    None,
    b"",
    facts_of(1, 1, 0),
    facts_of(1, 2, 3),
    *(facts_of(2, signals, ids) for signals in range(4) for ids in (0, 1, 2, 60)),
    facts_of(127, 1, 1),
]
UNREADABLE = ForeignFile(state=3, reason="x" * 1_000, time_column="time").SerializeToString()  # type: ignore[arg-type]


@dataclass
class Shelf:
    """The datasets, the rows that were added, and a servicer on them."""

    server: MetaServer
    keys: dict[str, int] = field(default_factory=dict)
    ids: dict[str, UUID] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    servicer: SegmentLookupServicer = field(init=False)

    def __post_init__(self) -> None:
        self.restart()
        self._read_datasets()

    def _read_datasets(self) -> None:
        with self.server.running.database.read() as tx:
            for name, key, dataset_id in tx.execute(text("SELECT name, key, id FROM datasets")):
                self.keys[name], self.ids[name] = key, dataset_id

    def restart(self) -> None:
        """Serve anew, without anything remembered."""
        transactions = Transactions(self.server.running.database)
        self.servicer = SegmentLookupServicer(transactions, self.server.settings)

    def add_datasets(self, count: int) -> None:
        """Add datasets that are called "many 1" and so on."""
        with self.server.running.database.write() as tx:
            tx.execute(_MANY_DATASETS, {"count": count})
        self._read_datasets()

    def row(self, rng: random.Random, version: int, **given: object) -> dict[str, Any]:
        """Make a segment of any kind, as it may be at a version."""
        name = str(given.pop("dataset", rng.choice(sorted(self.keys))))
        dur_class = rng.choice((0, 1, 5))
        start = rng.randrange(50) * SECOND
        row: dict[str, Any] = {
            "id": UUID(int=rng.getrandbits(128)),
            "dataset": name,
            "key": self.keys[name],
            "dur_class": dur_class,
            "start": start,
            "end": start + 4**dur_class * SECOND - rng.randrange(1, SECOND),
            "created": rng.randrange(1, version + 1),
            "removed": rng.choice((None, None, version + rng.randrange(1, 9))),
            "prefix": f"dataset/{self.ids[name]}/merged"[: rng.choice((0, 7, 200))],
            "name": "ü" * rng.choice((0, 1, 60)),
            "facts": rng.choice(FACTS),
            "signals": rng.choice((None, 2, 6, 8)),
            "crc": rng.choice((None, 0, 1, 0x12345678, 2**32 - 1)),
            "file": None,
        } | given
        row["message"] = segments.write_message(
            row["id"],
            self.ids[name],
            (row["start"], row["end"]),
            (1, 1, 1),
            (row["prefix"], row["name"]),
            0,
        )
        return row

    def add(self, rows: list[dict[str, Any]], version: int) -> None:
        """Add segments, and let a version be the current one."""
        with self.server.running.database.write() as tx:
            if rows:
                tx.execute(_INSERT, rows)
            tx.execute(text("UPDATE meta_state SET version = :v"), {"v": version})
        self.rows += rows

    def walk(self, request: FindSegmentsRequest) -> list[int]:
        """Read the pages of a lookup, which are those of the model; returns their sizes."""
        expected = self.expected(request)
        sizes: list[int] = []
        while True:
            checked = CheckedLookup.of(request)
            page = FindSegmentsResponse.FromString(self.servicer.pages.find(checked))
            assert page.ByteSize() <= convert.REPLY_BYTES_MAX
            begin = sum(sizes)
            sizes.append(len(page.segments))
            own = expected[begin : begin + len(page.segments)]
            check_page(page, own)
            request.as_of_version = page.snapshot_version
            if not page.page.HasField("next_cursor"):
                assert sum(sizes) == len(expected)
                return sizes
            assert page.segments
            assert sum(sizes) < len(expected)
            request.cursor = page.page.next_cursor

    def expected(self, request: FindSegmentsRequest) -> list[SegmentInfo]:
        """All segments of a lookup, with their whole facts, in the order of its pages."""
        version = request.as_of_version
        if not request.HasField("as_of_version"):
            with self.server.running.database.read() as tx:
                version = tx.execute(text("SELECT version FROM meta_state")).scalar_one()
        start, end = INT64_MIN, INT64_MAX
        if request.HasField("time_range"):
            start, end = request.time_range.start_time, request.time_range.end_time - 1
        visible = scope.visible_ids()
        names = set(request.dataset_names) or set(self.keys)
        names = {name for name in names if visible is None or self.ids[name] in visible}
        mask = sum(1 << signal for signal in set(request.signals))
        matching = [
            row
            for row in self.rows
            if row["dataset"] in names
            and row["start"] <= end
            and row["end"] >= start
            and row["created"] <= version
            and (row["removed"] is None or row["removed"] > version)
            and (not mask or row["signals"] is None or row["signals"] & mask)
        ]
        matching.sort(key=lambda row: (row["key"], row["dur_class"], row["start"], row["id"]))
        return list(map(self._info, matching))

    def _info(self, row: dict[str, Any]) -> SegmentInfo:
        segment = SegmentRow(
            id=str(row["id"]),
            dataset_id=str(self.ids[row["dataset"]]),
            start_ns=row["start"],
            end_ns=row["end"],
            size_bytes=1,
            compressed_size_bytes=1,
            number_of_events=1,
            prefix=row["prefix"],
            object_name=row["name"],
            created_version=row["created"],
            tombstone_version=row["removed"],
            merge_count=0,
            facts=row["facts"],
            crc32c=row["crc"],
            foreign_file=row["file"],
        )
        return convert.segment_info(self.server.settings.stores, segment)


def check_page(page: FindSegmentsResponse, expected: list[SegmentInfo]) -> None:
    """Compare a page with its segments; their columns are those that no server knows."""
    layouts: dict[tuple[str, tuple[int, ...]], int] = {}
    for whole in expected:
        if whole.facts.format_version >= _FORMAT_WITH_IDS:
            key = (whole.dataset_id, tuple(whole.facts.promoted_field_ids))
            whole.layout = layouts.setdefault(key, len(layouts))
            whole.facts.ClearField("promoted_field_ids")
    assert list(page.segments) == expected
    assert list(page.layouts) == [
        SegmentLayout(promoted_columns=[PromotedColumn(field_id=n) for n in ids])
        for _, ids in layouts
    ]


def a_request(rng: random.Random, names: list[str], version: int) -> FindSegmentsRequest:
    """Ask for any segments of a version."""
    request = FindSegmentsRequest(limit=rng.choice((1, 3, 50, 1_000)))
    if rng.random() < 0.7:
        start = rng.randrange(-(10**9), 60 * SECOND)
        end = start + rng.choice((1, SECOND, 20 * SECOND))
        request.time_range.CopyFrom(TimeRange(start_time=start, end_time=end))
    if rng.random() < 0.5:
        request.dataset_names.extend(rng.sample(names, rng.randrange(1, 4)))
    if rng.random() < 0.3:
        signals: list[Signal.ValueType] = rng.sample(SIGNALS, rng.randrange(1, 3))
        request.signals.extend(signals)
    if rng.random() < 0.5:
        # By then all datasets are there.
        request.as_of_version = rng.randrange(10, version + 1)
    return request


@contextmanager
def limited_to(ids: set[UUID] | None) -> Iterator[None]:
    """Call as a principal that sees some datasets, None for all."""
    principal = access.current.get()
    limited = (
        Principal(principal.subject, principal.role, TenantScope(dataset_ids=frozenset(ids)))
        if ids
        else principal
    )
    token = access.current.set(limited)
    try:
        yield
    finally:
        access.current.reset(token)
