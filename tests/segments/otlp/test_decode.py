"""OTLP to columns: the official classes say what must come out."""

import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from segments.otlp.decode import decode
from segments.otlp.official import OFFICIAL_CLASSES
from segments.otlp.wire import UndecodableSlice, canonical
from segments.parquet.schema import section_schema
from segments.signals import SIGNALS, Signal
from tests.support.examples import examples
from tests.support.otlp.checks import RECEIVED_AT, assert_same, decoded_rows
from tests.support.otlp.messages import dirty, fill, length_delimited, mutate
from tests.support.otlp.oracle import rows


def message(signal: Signal, seed: int) -> Any:
    return fill(OFFICIAL_CLASSES[signal](), random.Random(seed))


@pytest.mark.parametrize("signal", SIGNALS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_column_is_what_the_official_classes_say(signal: Signal, seed: int) -> None:
    data = message(signal, seed)

    decoded = decode(signal, [data.SerializeToString()], [RECEIVED_AT])

    assert decoded.failed == ()
    if decoded.table is not None:
        assert decoded.table.schema.equals(section_schema(signal))
        decoded.table.validate(full=True)
    assert_same(decoded_rows(decoded), rows(signal, data, RECEIVED_AT))


@pytest.mark.parametrize("signal", SIGNALS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_strange_but_legal_way_to_write_a_message_makes_no_difference(
    signal: Signal, seed: int
) -> None:
    payload = dirty(message(signal, seed), random.Random(seed))

    decoded = decode(signal, [payload], [RECEIVED_AT])

    assert decoded.failed == ()
    data = OFFICIAL_CLASSES[signal].FromString(payload)
    assert_same(decoded_rows(decoded), rows(signal, data, RECEIVED_AT))


@pytest.mark.parametrize("signal", SIGNALS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_slice_does_not_touch_its_neighbours(signal: Signal, seed: int) -> None:
    rnd = random.Random(seed)
    before, victim, after = (message(signal, seed + i) for i in range(3))
    damaged = mutate(victim.SerializeToString(), rnd)

    decoded = decode(
        signal, [before.SerializeToString(), damaged, after.SerializeToString()], [1, 2, 3]
    )

    try:
        middle = rows(signal, OFFICIAL_CLASSES[signal].FromString(canonical(signal, damaged)), 2)
    except UndecodableSlice:
        # What the official classes refuse is set aside, or read without the part that is wrong.
        if not decoded.failed:
            return
        assert [f.index for f in decoded.failed] == [1]
        middle = []
    expected = [*rows(signal, before, 1), *middle, *rows(signal, after, 3)]
    found = decoded_rows(decoded)
    if signal == "metrics":
        # The kinds of metric come one after the other, over all slices.
        for side in (found, expected):
            side.sort(key=lambda row: repr(row["metric_type"]))
    assert_same(found, expected)


def nested(depth: int, *, kvlist: bool) -> bytes:
    value = AnyValue(string_value="deep").SerializeToString()
    for _ in range(depth):
        inner = length_delimited(2, value) if kvlist else value
        value = length_delimited(6 if kvlist else 5, length_delimited(1, inner))
    body = length_delimited(5, value)
    return length_delimited(1, length_delimited(2, length_delimited(2, body)))


@pytest.mark.long
@pytest.mark.parametrize("kvlist", [False, True], ids=["arrays", "kvlists"])
def test_values_nest_as_deep_as_the_official_classes_allow(kvlist: bool) -> None:
    for depth in range(60):
        payload = nested(depth, kvlist=kvlist)
        decoded = decode("logs", [payload], [1])
        if depth > 48:
            assert [f.index for f in decoded.failed] == [0]
        elif depth <= (31 if kvlist else 48):
            assert_same(decoded_rows(decoded), rows("logs", LogsData.FromString(payload), 1))
        else:
            assert decoded.failed == ()


@pytest.mark.parametrize(
    "payload",
    [b"\x0a\x05ab", b"\xff", b"\x0a\x04\x12\x02\x12\xff", b"\x0f"],
    ids=["truncated", "garbage", "length past the end", "wire type 7"],
)
def test_a_slice_that_is_not_otlp_is_reported(payload: bytes) -> None:
    decoded = decode("logs", [payload], [1])

    assert decoded.table is None
    assert [f.index for f in decoded.failed] == [0]
    assert decoded.failed[0].error


def test_payloads_without_records_make_no_table() -> None:
    assert decode("metrics", [], []).table is None
    assert decode("metrics", [b""], [1]).table is None


@example("3.0")
@given(st.sampled_from(["3.0", "-0.0", "1e+16", "0.1"]))
def test_a_double_never_reads_like_a_whole_number(text: str) -> None:
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add()
    record.body.double_value = float(text)

    table = decode("logs", [data.SerializeToString()], [1]).table

    assert table is not None
    assert table["body"].to_pylist() == [text]
    assert table["body_type"].to_pylist() == ["double"]


def test_large_values_pass_through() -> None:
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = 'x"' * 500_000
    for i in range(10_000):
        record.attributes.add(key=f"k{i}").value.int_value = i

    decoded = decode("logs", [data.SerializeToString()], [1])

    assert_same(decoded_rows(decoded), rows("logs", data, 1))
