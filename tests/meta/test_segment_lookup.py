"""FindSegments and GetSegmentsByIds over the real server."""

import random
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace

import pytest

from meta.config import Settings
from meta.errors import (
    CursorInvalid,
    InvalidArgument,
    NotFound,
    VersionExpired,
    VersionNotReached,
)
from meta.services.lookup.checked_lookup import CheckedLookup
from meta.services.messages import cursors
from meta.store.access.token_secrets import cursor_key
from meta.store.segments.segments import DURATION_CLASS_MAX, class_span_nanos, duration_class
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

SECOND = 1_000_000_000
HOUR = 3_600 * SECOND


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.mark.parametrize(
    "duration",
    [0, 1, SECOND - 1, SECOND, 4 * SECOND - 1, 4 * SECOND, 5 * SECOND, 16 * SECOND, 2**63 - 1],
)
def test_a_duration_class_is_the_smallest_that_is_longer(duration: int) -> None:
    found = duration_class(0, duration)

    assert duration < class_span_nanos(found)
    assert found == 0 or duration >= class_span_nanos(found - 1)
    assert found <= DURATION_CLASS_MAX


def test_an_end_at_the_greatest_time_is_not_a_bound(writer: Writer, dataset: str) -> None:
    greatest = 2**63 - 1
    (last,) = writer.save(segment_of(dataset, greatest))
    (long,) = writer.save(segment_of(dataset, 0, greatest))
    (before,) = writer.save(segment_of(dataset, greatest - 1))

    assert set(writer.find_ids("web", start=0, end=greatest)) == {last, long, before}
    assert set(writer.find_ids("web", start=0, end=greatest, limit=1)) == {last, long, before}
    assert set(writer.find_ids("web", start=greatest, end=greatest)) == {last, long}
    assert set(writer.find_ids("web", start=greatest - 1, end=greatest)) == {last, long, before}
    assert writer.find_ids("web", start=0, end=greatest - 1) == [long]


def test_found_are_exactly_the_segments_that_overlap(writer: Writer, dataset: str) -> None:
    rng = random.Random(7)
    spans = []
    for _ in range(300):
        start = EPOCH + rng.randrange(10 * HOUR)
        spans.append((start, start + rng.choice((0, 1, SECOND, HOUR, 5 * HOUR, 100 * HOUR))))
    ids: list[str] = []
    for at in range(0, 300, 100):
        ids += writer.save(*(segment_of(dataset, *span) for span in spans[at : at + 100]))

    for _ in range(20):
        start = EPOCH + rng.randrange(-2 * HOUR, 12 * HOUR)
        end = start + rng.choice((1, SECOND, HOUR, 6 * HOUR))
        expected = {
            one for one, span in zip(ids, spans, strict=True) if span[0] < end and span[1] >= start
        }

        found = writer.find_ids("web", start=start, end=end, limit=7)

        assert set(found) == expected
        assert len(found) == len(expected)
        assert found == writer.find_ids("web", start=start, end=end)


def test_the_bounds_of_a_query_are_start_inclusive_and_end_exclusive(
    writer: Writer, dataset: str
) -> None:
    (one,) = writer.save(segment_of(dataset, EPOCH, EPOCH + 10))

    assert writer.find_ids("web", start=EPOCH + 10, end=EPOCH + 11) == [one]
    assert writer.find_ids("web", start=EPOCH + 11, end=EPOCH + 12) == []
    assert writer.find_ids("web", start=EPOCH - 5, end=EPOCH) == []
    assert writer.find_ids("web", start=EPOCH - 5, end=EPOCH + 1) == [one]
    assert writer.find_ids("web") == [one]
    with pytest.raises(InvalidArgument):
        writer.find("web", start=EPOCH, end=EPOCH)


def test_no_names_means_all_datasets_one_after_the_other(
    catalog: CatalogDriver, writer: Writer
) -> None:
    catalog.dataset("empty")
    expected = [writer.save_many(catalog.dataset(f"d{n}"), n + 1) for n in range(9)]
    flat = [one for ids in expected for one in ids]

    assert writer.find_ids() == flat
    assert writer.find_ids(limit=1) == flat
    assert writer.find_ids(limit=5) == flat
    assert writer.find_ids("d7", "d2") == expected[2] + expected[7]


def test_an_unknown_dataset_is_named(writer: Writer, dataset: str) -> None:
    with pytest.raises(NotFound) as refused:
        writer.find("web", "wob")

    assert refused.value.metadata["dataset_name"] == "wob"


def test_every_page_is_of_the_first_ones_version_while_merges_commit(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    for day in range(4):
        writer.save_many(dataset, 16, EPOCH + day * 86_400 * SECOND)
    worker.plan()
    expected = writer.find_ids("web")

    seen: list[str] = []
    cursor: str | None = None
    versions = set()
    while True:
        reply = writer.find("web", limit=9, cursor=cursor)
        seen += [one.id for one in reply.segments]
        versions.add(reply.snapshot_version)
        if not reply.page.next_cursor:
            break
        cursor = reply.page.next_cursor
        if (task := worker.find_task()) is not None:
            worker.complete(task.task_id, worker.output(task))
        writer.save_many(dataset, 1)

    assert seen == expected
    assert len(versions) == 1
    assert len(writer.find_ids("web")) < len(expected)


def test_an_older_version_shows_what_it_showed(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    shown: dict[int, list[str]] = {}

    def note() -> None:
        shown[writer.find("web").snapshot_version] = writer.find_ids("web")

    for round_ in range(4):
        writer.save_many(dataset, 16, EPOCH + round_)
        note()
        worker.plan()
        worker.merge_all()
        note()

    for version, ids in shown.items():
        assert writer.find_ids("web", as_of_version=version) == ids
    with pytest.raises(InvalidArgument):
        writer.find("web", as_of_version=max(shown) + 100)
    with pytest.raises(InvalidArgument):
        writer.find("web", as_of_version=-1)


@pytest.mark.long
def test_min_version_is_there_at_once_or_refused_after_a_while(
    writer: Writer, dataset: str
) -> None:
    (one,) = writer.save(segment_of(dataset))
    version = writer.find("web").snapshot_version

    assert writer.find_ids("web", min_version=version) == [one]
    with pytest.raises(VersionNotReached):
        writer.find("web", min_version=version + 1)


def test_a_cursor_of_another_filter_or_broken_is_invalid(writer: Writer, dataset: str) -> None:
    writer.save_many(dataset, 3)
    cursor = writer.find("web", limit=1).page.next_cursor

    for fields in (
        {"start": EPOCH, "end": EPOCH + HOUR, "cursor": cursor},
        {"cursor": cursor[:-4]},
        {"cursor": "no cursor"},
        {"cursor": "é"},
        {"cursor": cursor[::-1]},
    ):
        with pytest.raises(CursorInvalid):
            writer.find("web", **fields)
    with pytest.raises(CursorInvalid):
        writer.find(cursor=cursor)


@pytest.mark.parametrize("limit", [-1, -(2**31)])
def test_a_negative_limit_is_refused(writer: Writer, dataset: str, limit: int) -> None:
    with pytest.raises(InvalidArgument):
        writer.find("web", limit=limit)


@pytest.mark.long
def test_a_page_ends_before_it_is_too_large_to_send(writer: Writer, dataset: str) -> None:
    folder = "/".join(["x" * 250] * 2)
    for _ in range(8):
        writer.save(*(segment_of(dataset, key=f"{folder}/{n}-{_}.parquet") for n in range(1_000)))

    first = writer.find("web", limit=10_000)

    assert first.ByteSize() < 4 * 1024 * 1024
    assert 1_000 < len(first.segments) < 8_000
    assert len(writer.find_ids("web", limit=10_000)) == 8_000


def test_segments_are_read_by_id_in_order_without_doubles_and_missing_ones(
    writer: Writer, dataset: str
) -> None:
    first, second = writer.save_many(dataset, 2)
    missing = "0190b5a0-0000-7000-8000-000000000000"

    found = writer.get(second, missing, first.upper(), second)

    assert [one.id for one in found] == [second, first]
    assert found[0].dataset_id == dataset
    with pytest.raises(InvalidArgument):
        writer.get("x")
    with pytest.raises(InvalidArgument):
        writer.get(*([missing] * 1_001))


class TestExpiry:
    """With a grace that is over at once."""

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings) -> Settings:
        lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0, cursor=60.0)
        return replace(meta_settings, lifetimes=lifetimes)

    def test_a_version_whose_objects_may_go_has_expired_before_they_are_handed_out(
        self, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        ids = writer.save_many(dataset, 4)
        page = writer.find("web", limit=1)
        worker.plan()
        worker.merge_all()
        still = writer.find_ids("web", as_of_version=page.snapshot_version)
        due = writer.due()

        assert still == ids
        assert sorted(one.segment_id for one in due) == sorted(ids)
        with pytest.raises(VersionExpired):
            writer.find("web", as_of_version=page.snapshot_version)
        with pytest.raises(VersionExpired):
            writer.find("web", limit=1, cursor=page.page.next_cursor)
        assert len(writer.find_ids("web")) == 1

    def test_another_datasets_versions_do_not_expire(
        self, catalog: CatalogDriver, writer: Writer, worker: WorkerDriver, dataset: str
    ) -> None:
        catalog.dataset("calm")
        writer.save_many(dataset, 4)
        version = writer.find("web").snapshot_version
        worker.plan()
        worker.merge_all()
        writer.due()

        assert writer.find_ids("calm", as_of_version=version) == []
        with pytest.raises(VersionExpired):
            writer.find(as_of_version=version)

    def test_a_cursor_has_a_lifetime(
        self, writer: Writer, dataset: str, meta_server: MetaServer
    ) -> None:
        writer.save_many(dataset, 3)
        old = writer.find("web", limit=1).page.next_cursor
        with meta_server.running.database.read() as tx:
            key = cursor_key(tx)

        def aged(secs: int) -> str:
            cursors.sign_with(key)
            request = FindSegmentsRequest(dataset_names=["web"], limit=1, cursor=old)
            wanted = CheckedLookup.of(request)
            assert wanted.cursor is not None
            return wanted.encode(replace(wanted.cursor, began_secs=wanted.cursor.began_secs - secs))

        assert len(writer.find("web", limit=1, cursor=copy_context().run(aged, 30)).segments) == 1
        with pytest.raises(CursorInvalid, match="too old"):
            writer.find("web", limit=1, cursor=copy_context().run(aged, 61))


def test_a_registered_segment_is_found_at_once_by_everyone(writer: Writer, dataset: str) -> None:
    def save_and_find(number: int) -> bool:
        (one,) = writer.save(segment_of(dataset, EPOCH + number))
        return one in writer.find_ids("web")

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(save_and_find, range(60)))
