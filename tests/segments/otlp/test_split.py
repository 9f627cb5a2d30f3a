"""Payloads that would take too much memory, or the process with them."""

import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    MetricsData,
)

from segments.otlp.decode import decode
from segments.otlp.json_text import ELEMENTS_MAX
from segments.otlp.official import OFFICIAL_CLASSES
from segments.otlp.split import UNCHECKED_BYTES_MAX, cut, records_at_most
from segments.otlp.wire import UndecodableSlice
from segments.signals import SIGNALS, Signal
from tests.support.examples import examples
from tests.support.otlp.messages import dirty, fill, length_delimited, mutate
from tests.support.otlp.oracle import rows
from tests.support.otlp.records import records

GROUP, END = b"\xfb\x07", b"\xfc\x07"


@pytest.mark.parametrize("signal", SIGNALS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32), records_max=st.integers(1, 12))
@example(seed=1279, records_max=1)  # A sum twice, the second of another temporality.
def test_the_pieces_of_a_payload_hold_its_records_once(
    signal: Signal, seed: int, records_max: int
) -> None:
    rnd = random.Random(seed)
    body = dirty(fill(OFFICIAL_CLASSES[signal](), rnd), rnd)
    try:
        pieces = list(cut(signal, body, is_validated=False, records_max=records_max))
    except UndecodableSlice as error:
        if "oneof occurs twice" not in str(error):
            raise
        return

    found = Counter[tuple[bytes, ...]]()
    for piece in pieces:
        message = OFFICIAL_CLASSES[signal].FromString(piece)
        assert len(rows(signal, message, 1)) <= 2 * records_max
        found.update(records(signal, message))
    assert found == records(signal, OFFICIAL_CLASSES[signal].FromString(body))


@pytest.mark.parametrize("signal", SIGNALS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_payload_is_cut_or_refused_as_a_whole(signal: Signal, seed: int) -> None:
    rnd = random.Random(seed)
    body = mutate(dirty(fill(OFFICIAL_CLASSES[signal](), rnd), rnd), rnd)
    is_large = len(body) > 4 and records_at_most(signal, body) > 2
    try:
        pieces = list(cut(signal, body, is_validated=False, records_max=1))
    except UndecodableSlice:
        return

    if is_large:
        whole = OFFICIAL_CLASSES[signal].FromString(body)
        found = sum(len(rows(signal, OFFICIAL_CLASSES[signal].FromString(p), 1)) for p in pieces)
        assert found == len(rows(signal, whole, 1))
    else:
        assert pieces == [body]


@pytest.mark.parametrize("signal", SIGNALS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_payload_has_more_records_than_was_said_before(signal: Signal, seed: int) -> None:
    rnd = random.Random(seed)
    body = dirty(fill(OFFICIAL_CLASSES[signal](), rnd), rnd)

    num_records = len(rows(signal, OFFICIAL_CLASSES[signal].FromString(body), 1))
    assert num_records <= records_at_most(signal, body)


def test_data_points_of_one_metric_share_its_name_and_temporality() -> None:
    data = MetricsData()
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="m", unit="s")
    for number in range(100):
        metric.sum.data_points.add(as_int=number)
    metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE

    body = data.SerializeToString()
    pieces = list(cut("metrics", body, is_validated=True, records_max=10))

    decoded = decode("metrics", pieces, [1] * len(pieces)).table
    assert len(pieces) > 10
    assert decoded is not None
    assert decoded["value_long"].to_pylist() == list(range(100))
    assert set(decoded["metric_name"].to_pylist()) == {"m"}
    assert set(decoded["aggregation_temporality"].to_pylist()) == {2}


def test_a_metric_of_two_kinds_on_the_wire_is_refused_when_it_is_huge() -> None:
    points = b"\x0a\x00" * 50
    metric = length_delimited(2, length_delimited(5, points) + length_delimited(7, points))
    body = length_delimited(1, length_delimited(2, metric))

    with pytest.raises(UndecodableSlice, match="oneof"):
        cut("metrics", body, is_validated=True, records_max=10)


@pytest.mark.parametrize("ending", [END * 1_000_000, b""], ids=["ended", "open"])
def test_groups_nested_a_million_deep_are_refused_and_end_no_process(ending: bytes) -> None:
    body = GROUP * 1_000_000 + ending

    with pytest.raises(UndecodableSlice):
        cut("logs", body, is_validated=False)
    assert [f.index for f in decode("logs", [b"", body], [1, 1]).failed] == [1]


def test_groups_nested_as_deep_as_an_unchecked_payload_can_end_no_process() -> None:
    body = (GROUP[:1] + b"\x07") * (UNCHECKED_BYTES_MAX // 2)

    (piece,) = cut("logs", body, is_validated=False)

    assert [f.index for f in decode("logs", [piece], [1], are_checked=True).failed] == [0]
    one_byte = b"\x7b" * UNCHECKED_BYTES_MAX
    assert [f.index for f in decode("logs", [one_byte], [1], are_checked=True).failed] == [0]


def test_a_span_with_more_events_than_memory_is_for_fails_alone() -> None:
    def span(name: bytes, events: int) -> bytes:
        return length_delimited(2, b"\x2a\x01" + name + b"\x5a\x00" * events)

    def payload(*spans: bytes) -> bytes:
        return length_delimited(1, length_delimited(2, b"".join(spans)))

    bodies = [
        payload(span(b"a", 2)),
        payload(span(b"b", ELEMENTS_MAX + 1)),
        payload(span(b"c", ELEMENTS_MAX - 1)),
        payload(span(b"d", 2), span(b"e", 0)),
    ]

    decoded = decode("traces", bodies, [1, 2, 3, 4], are_checked=True)

    assert [f.index for f in decoded.failed] == [1]
    assert decoded.table is not None
    assert decoded.table["name"].to_pylist() == ["a", "c", "d", "e"]
    assert [i for one in decoded.slices for i in one.to_pylist()] == [0, 2, 3, 3]
    assert decoded.table["timestamp"].cast(pa.int64()).to_pylist() == [1, 3, 4, 4]
