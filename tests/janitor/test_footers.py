"""Footers of segments that were registered without facts, read once in the background."""

from pathlib import Path

import pyarrow as pa
import pytest

from dataplane.registration import segment_facts
from janitor.footers import SEGMENTS_PAGE, read_footers
from janitor.jobs import Tools
from meta.v1.common_pb2 import (
    SIGNAL_LOGS,
    SIGNAL_METRICS,
    SIGNAL_TRACES,
    CreateSegment,
    SegmentInfo,
    Signal,
)
from meta.v1.operations_pb2 import ListUnreadSegmentsRequest
from segments.keys import new_merged_key, split_key
from segments.parquet.footer import SegmentFacts, SegmentFooter
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import Signal as Name
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer, segment_of
from tests.support.parquet.old_footers import without_signal_times
from tests.support.parquet.rows import rows_of, write_segment

PROMOTED = SegmentSpec(promoted=(PromotedColumn("user", "string", "record", "user.id", 1_000),))


@pytest.fixture
def dataset(tools: Tools) -> str:
    return CatalogDriver(tools.meta).dataset("web")


@pytest.fixture
def writer(tools: Tools) -> Writer:
    return Writer(tools.meta)


def put(
    tools: Tools, folder: Path, dataset: str, *, version: int = 2, is_old: bool = False
) -> tuple[CreateSegment, SegmentFacts]:
    """Write a segment of logs and traces, and describe it as a bare-contract client would."""
    key = new_merged_key(dataset)
    path = folder / key.rpartition("/")[2]
    tables: dict[Name, pa.Table] = {
        "logs": rows_of("logs", 30, PROMOTED),
        "traces": rows_of("traces", 30, PROMOTED),
    }
    footer = SegmentFooter(dataset, "test", format_version=version)
    _, facts = write_segment(path, tables, PROMOTED, footer)
    body = path.read_bytes()
    tools.store.put_if_absent(key, without_signal_times(body) if is_old else body)
    segment = segment_of(dataset, facts.start_time, facts.end_time, events=facts.rows)
    prefix, segment.cloud_object_key.key = split_key(key)
    segment.cloud_object_key.prefix.prefix = prefix
    return segment, facts


def unread(tools: Tools) -> list[str]:
    reply = tools.meta.operations.ListUnreadSegments(ListUnreadSegmentsRequest())
    return [segment.id for segment in reply.segments]


def find(writer: Writer, *signals: Signal.ValueType) -> list[SegmentInfo]:
    return list(writer.find("web", signals=signals).segments)


@pytest.mark.parametrize(
    ("version", "is_old"),
    [(2, False), (1, False), (1, True)],
    ids=["format 2", "format 1", "format 1 of 0.1.0"],
)
def test_the_content_of_a_segment_is_read_from_its_footer(
    tools: Tools, writer: Writer, dataset: str, tmp_path: Path, version: int, is_old: bool
) -> None:
    segment, written = put(tools, tmp_path, dataset, version=version, is_old=is_old)
    writer.save(segment)

    read_footers(tools)

    (found,) = find(writer)
    expected = segment_facts(written.content)
    assert found.facts.format_version == expected.format_version == version
    assert found.facts.signals == expected.signals
    assert [item.signal for item in found.facts.signals] == [SIGNAL_LOGS, SIGNAL_TRACES]
    assert unread(tools) == find(writer, SIGNAL_METRICS) == []
    assert find(writer, SIGNAL_LOGS) == find(writer, SIGNAL_TRACES) == [found]


def test_footers_are_read_beyond_one_page(tools: Tools, writer: Writer, dataset: str) -> None:
    writer.save(*(segment_of(dataset) for _ in range(SEGMENTS_PAGE + 1)))

    read_footers(tools)

    assert unread(tools) == []


@pytest.mark.parametrize("body", [b"", b"rows of somebody", None], ids=["empty", "foreign", "none"])
def test_an_object_that_tells_nothing_is_read_once_and_expected_to_hold_all_signals(
    tools: Tools, writer: Writer, dataset: str, body: bytes | None
) -> None:
    segment = segment_of(dataset)
    if body is not None:
        key = segment.cloud_object_key
        tools.store.put_if_absent(f"{key.prefix.prefix}/{key.key}", body)
    (segment_id,) = writer.save(segment)

    read_footers(tools)

    assert unread(tools) == []
    (found,) = find(writer, SIGNAL_METRICS)
    assert found.id == segment_id
    assert not found.HasField("facts")
    # The registration may still be repeated.
    assert writer.save(segment) == [segment_id]


@pytest.mark.parametrize("fault", ["rows", "start", "end"])
def test_a_footer_that_disagrees_with_the_registration_is_not_believed(
    tools: Tools, writer: Writer, dataset: str, tmp_path: Path, fault: str
) -> None:
    segment, _ = put(tools, tmp_path, dataset)
    if fault == "rows":
        segment.number_of_events += 1
    elif fault == "start":
        segment.time_range.start_time -= 1
    else:
        segment.time_range.end_time += 1
    writer.save(segment)

    read_footers(tools)

    (found,) = find(writer, SIGNAL_METRICS)
    assert not found.HasField("facts")
    assert unread(tools) == []


def test_a_footer_of_another_dataset_is_not_believed(
    tools: Tools, writer: Writer, dataset: str, tmp_path: Path
) -> None:
    segment, _ = put(tools, tmp_path, dataset)
    other = CatalogDriver(tools.meta).dataset("other")
    key = segment.cloud_object_key
    body = tools.store.get(f"{key.prefix.prefix}/{key.key}")
    key.prefix.prefix = key.prefix.prefix.replace(dataset, other)
    tools.store.put_if_absent(f"{key.prefix.prefix}/{key.key}", body)
    segment.dataset_id = other
    writer.save(segment)

    read_footers(tools)

    (found,) = writer.find("other", signals=[SIGNAL_METRICS]).segments
    assert not found.HasField("facts")
