"""Promoted columns are the same out of decoded attributes and out of their JSON."""

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, NumberDataPoint

from segments.otlp.decode import Decoded, decode
from segments.otlp.typed_attributes import RecordAttributes
from segments.parquet.columns.promoted import promote
from segments.parquet.columns.promoted_reads import ROWS_MIN
from segments.parquet.spec import RECEIPT, PromotedColumn
from segments.signals import Signal
from tests.support.examples import examples

NAMES = ("a", "b.c", "é\n", "")
TYPES = ("bool", "int", "long", "real", "string", "datetime", "timespan", "guid", "dynamic")
TEXTS = (
    "true",
    "7",
    "1e5",
    'a "quoted"\n\x00\u2028',
    "2024-02-28T23:59:59.123456789Z",
    "1700-01-01 00:00:00+09:59",
    "2024-02-29T00:00:00.5+01:00",
    "2024-02-28t01:02:03z",
    "2024-02-28T01:02:03Z\n",
    "2024-02-28",
    "6BA7B810-9dad-11d1-80b4-00c04fd430c8",
    "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8\n",
)
STRINGS = st.one_of(st.sampled_from(TEXTS), st.text(max_size=4)).map(
    lambda text: AnyValue(string_value=text)
)
INTS = st.one_of(
    st.sampled_from([0, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63)]),
    st.integers(-9, 9),
).map(lambda number: AnyValue(int_value=number))
DOUBLES = st.one_of(st.sampled_from([-0.0, 3.0, 1e16, 1e22, 5e-324]), st.floats()).map(
    lambda number: AnyValue(double_value=number)
)
BOOLS = st.booleans().map(lambda flag: AnyValue(bool_value=flag))
SCALARS = st.one_of(STRINGS, INTS, DOUBLES, BOOLS)
OTHERS = st.one_of(
    st.just(AnyValue()),
    st.binary(max_size=3).map(lambda raw: AnyValue(bytes_value=raw)),
    st.lists(SCALARS, max_size=2).map(lambda own: AnyValue(array_value=ArrayValue(values=own))),
    st.lists(st.builds(KeyValue, key=st.sampled_from(NAMES), value=SCALARS), max_size=3).map(
        lambda own: AnyValue(kvlist_value=KeyValueList(values=own))
    ),
)


def records(values: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[list[LogRecord]]:
    # A key without a value message is null too.
    entry = st.builds(KeyValue, key=st.sampled_from(NAMES), value=st.none() | values)
    record = st.builds(LogRecord, attributes=st.lists(entry, max_size=5))
    return st.lists(record, min_size=1, max_size=8)


# Of one type, so that all values are taken in bulk, and of any.
RECORDS = st.one_of(
    *map(records, (STRINGS, INTS, DOUBLES, BOOLS)), records(SCALARS), records(SCALARS | OTHERS)
)
COLUMNS = st.lists(st.tuples(st.sampled_from(TYPES), st.sampled_from((*NAMES, "absent"))))


def both(
    decoded: Decoded, columns: list[PromotedColumn]
) -> list[tuple[tuple[list[Any], Counter[str]], tuple[list[Any], Counter[str]]]]:
    """Columns of each batch out of the attributes, and out of their JSON."""
    assert decoded.table is not None
    attributes = RecordAttributes(decoded.attributes, [column.attribute for column in columns])
    pairs, start = [], 0
    for batch in decoded.table.to_batches():
        pairs.append((attributes.promote(batch, columns, start), promote(batch, columns)))
        start += batch.num_rows
    return pairs


def assert_equal(
    read: tuple[list[Any], Counter[str]], parsed: tuple[list[Any], Counter[str]]
) -> None:
    for own, expected in zip(read[0], parsed[0], strict=True):
        own.validate(full=True)
        assert own.type == expected.type
        # NaN is not equal to itself, and 0.0 is to -0.0.
        assert repr(own.to_pylist()) == repr(expected.to_pylist())
        if pa.types.is_dictionary(own.type):
            assert own.dictionary.null_count == 0
    assert +read[1] == +parsed[1]


@given(own=RECORDS, columns=COLUMNS, resource=st.lists(st.sampled_from(NAMES), max_size=2))
@settings(deadline=None, max_examples=examples(150))
def test_decoded_attributes_and_their_json_have_the_same_values(
    own: list[LogRecord], columns: list[tuple[str, str]], resource: list[str]
) -> None:
    data = LogsData()
    container = data.resource_logs.add()
    for name in resource:
        container.resource.attributes.add(key=name).value.string_value = "shop"
    container.scope_logs.add().log_records.extend(own * ROWS_MIN)
    promoted = [
        PromotedColumn(f"c{place}", kql_type, scope, attribute)
        for place, (kql_type, attribute) in enumerate(columns)
        for scope in ("record", "resource")[: 1 + place % 2]
    ]
    if columns:
        promoted.append(PromotedColumn("id", "string", RECEIPT, "a"))

    ((read, parsed),) = both(decode("logs", [data.SerializeToString()], [1]), promoted)

    assert_equal(read, parsed)


def test_rows_of_each_kind_of_metric_read_their_own_attributes() -> None:
    data = MetricsData()
    metrics = data.resource_metrics.add().scope_metrics.add().metrics
    columns = [
        PromotedColumn("n", "long", "record", "n"),
        PromotedColumn("t", "string", "record", "t"),
    ]
    for kind, first in (("gauge", 0), ("sum", 1_000)):
        for number in range(first, first + ROWS_MIN):
            point = NumberDataPoint(time_unix_nano=1, as_int=number)
            point.attributes.add(key="n").value.int_value = number
            point.attributes.add(key="t" if number % 2 else "u").value.string_value = f"t{number}"
            getattr(metrics.add(name=kind), kind).data_points.append(point)
    signal: Signal = "metrics"

    pairs = both(decode(signal, [data.SerializeToString()], [1]), columns)

    assert len(pairs) == 2
    for read, parsed in pairs:
        assert_equal(read, parsed)
    assert pairs[1][0][0][0].to_pylist() == list(range(1_000, 1_000 + ROWS_MIN))


def test_rows_in_the_middle_of_a_part_read_their_own_attributes() -> None:
    data = LogsData()
    own = data.resource_logs.add().scope_logs.add().log_records
    for number in range(3 * ROWS_MIN):
        if number % 3:
            own.add().attributes.add(key="n").value.int_value = number
        else:
            own.add()
    own[0].attributes.add(key="of the first").value.bool_value = True
    decoded = decode("logs", [data.SerializeToString()], [1])
    assert decoded.table is not None
    whole = PromotedColumn("n", "long", "record", "n")
    other = PromotedColumn("f", "bool", "record", "of the first")
    rows = decoded.table.slice(ROWS_MIN, ROWS_MIN).to_batches()[0]

    attributes = RecordAttributes(decoded.attributes, ["n", "of the first"])
    (values, absent), _ = attributes.promote(rows, [whole, other], ROWS_MIN)

    expected = [number if number % 3 else None for number in range(ROWS_MIN, 2 * ROWS_MIN)]
    assert values.to_pylist() == expected
    assert absent.null_count == ROWS_MIN


def test_distinct_texts_of_many_attributes_are_those_of_their_json() -> None:
    data = LogsData()
    own = data.resource_logs.add().scope_logs.add().log_records
    names = [f"n{place}" for place in range(6)]
    for number in range(4_000):
        record = own.add()
        # In another order each time, and one of them absent or there twice.
        for place in range(6):
            name = names[(place + number) % 6]
            if name != "n0" or number % 3:
                record.attributes.add(key=name).value.string_value = f"{name} {number}"
            if name == "n1" and number % 5 == 0:
                record.attributes.add(key=name).value.string_value = "not this one"
        record.attributes.add(key="unread").value.int_value = number
    columns = [PromotedColumn(name, "string", "record", name) for name in names]

    ((read, parsed),) = both(decode("logs", [data.SerializeToString()], [1]), columns)

    assert_equal(read, parsed)
