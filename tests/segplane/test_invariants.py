"""Each invariant's check: silent where it holds, one violation where it does not."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from segments.keys import baby_key, merged_prefix
from segments.parquet.footer import BatchPart, SegmentFooter, StoredFooter
from segments.store.interface import ObjectInfo
from segplane import invariants
from segplane.invariants import EntryState, SegmentState, SegmentTotals, StreamState, Violation

DATASET = "01932c00-0000-7000-8000-000000000001"
STREAM = "01932c00-0000-7000-8000-000000000002"
SEGMENT = SegmentState("s1", DATASET, f"{merged_prefix(DATASET)}a.parquet", 100, 10, 1, 5)
STORED = StoredFooter(
    SegmentFooter(DATASET, "nursery", (BatchPart("b1", 1),)), {"logs": 10}, 1, 5, (), ()
)


def _stream(
    committed: int, merged: Iterable[int] = (), deleted: int = -1, stopped: int | None = None
) -> StreamState:
    entries = tuple(EntryState(f"d{i}", offset, deleted) for i, offset in enumerate(merged))
    return StreamState(STREAM, committed, deleted, stopped, entries)


def _objects(*keys: str, size_bytes: int = 100) -> dict[str, ObjectInfo]:
    return {key: ObjectInfo(key, size_bytes, 0) for key in keys}


@pytest.mark.parametrize(
    "stream",
    [
        _stream(-1),
        _stream(-1, [-1]),
        _stream(9, [3, 5], deleted=3),
        _stream(9, [9], deleted=9, stopped=9),
        _stream(9),
    ],
)
def test_offsets_in_order_pass(stream: StreamState) -> None:
    assert not list(invariants.offset_order([stream]))


@pytest.mark.parametrize(
    "stream",
    [
        _stream(9, [3, 10]),
        _stream(9, [3, 5], deleted=4),
        _stream(9, [9], stopped=8),
        _stream(-2),
        _stream(9, deleted=10),
    ],
)
def test_offsets_out_of_order_are_found(stream: StreamState) -> None:
    assert [v.invariant for v in invariants.offset_order([stream])] == ["I8"]


def test_an_offset_that_fell_is_found() -> None:
    old = _stream(9, [5, 7], deleted=2)

    assert not list(invariants.offsets_never_fall([old], [_stream(9, [5, 9], deleted=3)]))
    assert not list(invariants.offsets_never_fall([old], []))
    assert len(list(invariants.offsets_never_fall([old], [_stream(8, [4, 7], deleted=1)]))) == 3


@pytest.mark.parametrize(
    ("segment", "size_bytes", "count"),
    [
        (SEGMENT, 100, 0),
        (SEGMENT, 99, 1),
        (replace(SEGMENT, object_key=f"{merged_prefix(DATASET)}b.parquet"), 100, 1),
        (replace(SEGMENT, dataset_id=STREAM), 100, 1),
    ],
)
def test_a_live_segment_needs_its_object(
    segment: SegmentState, size_bytes: int, count: int
) -> None:
    objects = _objects(SEGMENT.object_key, size_bytes=size_bytes)

    found = list(invariants.live_objects([segment], objects))

    assert [v.invariant for v in found] == ["I9"] * count


def test_an_unmerged_baby_needs_its_object() -> None:
    stream = _stream(3, [0, 2])
    objects = _objects(baby_key(STREAM, 1), baby_key(STREAM, 3))

    found = list(invariants.baby_objects([stream], objects))

    assert found == [Violation("I9", STREAM, f"baby {baby_key(STREAM, 2)} is missing")]


def test_two_segments_of_one_object_are_found() -> None:
    twin = replace(SEGMENT, segment_id="s2")

    assert [v.subject for v in invariants.one_segment_an_object([SEGMENT, twin])] == ["s2"]


@pytest.mark.parametrize(
    ("stored", "count"),
    [
        (STORED, 0),
        (replace(STORED, rows_by_signal={"logs": 9}), 1),
        (replace(STORED, start_time=0, end_time=6), 2),
    ],
)
def test_a_footer_that_differs_is_found(stored: StoredFooter, count: int) -> None:
    assert len(list(invariants.footer_matches(SEGMENT, stored))) == count


def test_a_batch_in_two_live_segments_is_found() -> None:
    twin = replace(SEGMENT, segment_id="s2")
    other = replace(STORED, footer=replace(STORED.footer, batches=(BatchPart("b1", 2, 2),)))

    assert not list(invariants.merged_once([(SEGMENT, STORED), (twin, other)]))
    assert [v.invariant for v in invariants.merged_once([(SEGMENT, STORED), (twin, STORED)])] == [
        "I2"
    ]


def test_stats_that_differ_from_a_recount_are_found() -> None:
    assert not list(invariants.stats_true([SEGMENT], SegmentTotals(1, 100)))
    assert len(list(invariants.stats_true([SEGMENT], SegmentTotals(2, 100)))) == 1
