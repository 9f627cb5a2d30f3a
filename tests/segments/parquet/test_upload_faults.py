"""A segment's upload over a network that fails: what was written is reported, or nothing."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from segments.errors import CorruptObject, StoreUnavailable
from segments.location import StoreLocation
from segments.merging.inputs import MergeInput
from segments.merging.merge import InputFailed, MergeOrder, merge_segments
from segments.parquet.footer import SegmentFacts
from segments.parquet.reader import read_segment
from segments.parquet.small_writer import SmallSegment, small_format
from segments.parquet.upload import upload_segment, upload_small_segment
from segments.store.bucket import BucketStore
from segments.store.timeouts import RequestTimeouts
from tests.support.object_store import faults
from tests.support.object_store.faulty_proxy import (
    Fault,
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
)
from tests.support.object_store.operations import asks
from tests.support.parquet.rows import (
    DATASET,
    FOOTER,
    PLAIN,
    plain_sections,
    rows_of,
    write_segment,
)

KEY = f"dataset/{DATASET}/merged/0198a7c0-0000-7000-8000-000000000002.parquet"
SOON = RequestTimeouts(deadline_secs=60.0, wait_secs_min=0.01)
HASTY = replace(SOON, deadline_secs=0.5)


@pytest.fixture
def direct(s3_location: StoreLocation) -> BucketStore:
    return BucketStore(s3_location)


@pytest.fixture
def store(s3_location: StoreLocation, proxy: FaultyProxy) -> BucketStore:
    return BucketStore(replace(s3_location, endpoint=proxy.url), SOON)


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, SegmentFacts]:
    """Write a segment of some rows to a local file."""
    path = tmp_path / "x.parquet"
    _, facts = write_segment(path, {"logs": rows_of("logs", 2_000)})
    return path, facts


def small_segment() -> SmallSegment:
    """Make a segment of some rows in memory."""
    table = rows_of("logs", 2_000)
    format_ = small_format(("logs",), PLAIN)
    ((_, section),) = format_.sections("logs", table, pa.array([0] * 2_000, pa.int32()))
    return format_.write({"logs": section}, FOOTER)


@pytest.mark.parametrize("fault", [faults.lose_answer, faults.slow_down, faults.fail_after])
def test_an_upload_whose_put_failed_once_is_the_segment_that_was_written(
    direct: BucketStore,
    store: BucketStore,
    proxy: FaultyProxy,
    written: tuple[Path, SegmentFacts],
    fault: Fault,
) -> None:
    path, facts = written
    proxy.fault = faults.on_first(asks("PUT"), fault)

    upload_segment(store, KEY, path, facts)

    assert direct.get(KEY) == path.read_bytes()


def test_an_upload_that_the_store_gives_back_changed_is_never_reported(
    store: BucketStore, proxy: FaultyProxy, written: tuple[Path, SegmentFacts]
) -> None:
    path, facts = written
    proxy.fault = faults.on_each(asks("GET"), faults.corrupt)

    with pytest.raises(CorruptObject):
        upload_segment(store, KEY, path, facts)


def test_an_upload_that_cannot_be_read_back_is_never_reported(
    store: BucketStore, proxy: FaultyProxy, written: tuple[Path, SegmentFacts]
) -> None:
    path, facts = written
    proxy.fault = faults.on_each(asks("GET"), faults.truncate)

    with pytest.raises(StoreUnavailable):
        upload_segment(replace(store, timeouts=HASTY), KEY, path, facts)


def test_an_upload_of_which_the_store_kept_other_bytes_is_never_reported(
    store: BucketStore, proxy: FaultyProxy, written: tuple[Path, SegmentFacts]
) -> None:
    """Unlike a good store, moto keeps bytes that do not match their checksum."""
    path, facts = written
    proxy.fault = faults.on_each(asks("PUT"), faults.corrupt_request)

    with pytest.raises(CorruptObject):
        upload_segment(store, KEY, path, facts)


@pytest.mark.parametrize("fault", [faults.lose_answer, faults.slow_down, faults.fail_after])
def test_a_small_upload_whose_put_failed_once_is_the_segment_that_was_written(
    direct: BucketStore, store: BucketStore, proxy: FaultyProxy, fault: Fault
) -> None:
    small = small_segment()
    proxy.fault = faults.on_first(asks("PUT"), fault)

    upload_small_segment(store, KEY, small)

    assert direct.get(KEY) == small.body


@pytest.mark.parametrize(
    ("request_kind", "fault"),
    [("GET", faults.corrupt), ("GET", faults.truncate), ("PUT", faults.corrupt_request)],
    ids=["given back changed", "given back short", "kept changed"],
)
def test_a_small_upload_that_is_not_what_was_written_is_never_reported(
    store: BucketStore, proxy: FaultyProxy, request_kind: str, fault: Fault
) -> None:
    proxy.fault = faults.on_each(asks(request_kind), fault)

    with pytest.raises((CorruptObject, StoreUnavailable)):
        upload_small_segment(replace(store, timeouts=HASTY), KEY, small_segment())


@pytest.mark.parametrize("position", range(0, 100, 10))
def test_a_merge_never_takes_a_row_that_was_changed_on_the_way(
    direct: BucketStore,
    store: BucketStore,
    proxy: FaultyProxy,
    written: tuple[Path, SegmentFacts],
    tmp_path: Path,
    position: int,
) -> None:
    path, facts = written
    upload_segment(direct, KEY, path, facts)
    order = MergeOrder(DATASET, "test", PLAIN)
    registered = MergeInput("segment", KEY, facts.rows, facts.start_time, facts.end_time)

    def flip(request: Request, forward: Forward) -> ProxyAnswer:
        answer = forward(request)
        at = len(answer.body) * position // 100
        body = answer.body[:at] + bytes([answer.body[at] ^ 0x10]) + answer.body[at + 1 :]
        return replace(answer, body=body)

    proxy.fault = faults.on_each(asks("GET"), flip)

    try:
        result = merge_segments(store, [registered], order, tmp_path)
    except InputFailed:
        return  # It says which input, and nothing is registered.
    upload_segment(direct, "merged", tmp_path / "merged.parquet", result.facts)
    assert plain_sections(read_segment(direct, "merged")) == plain_sections(
        read_segment(direct, KEY)
    )
