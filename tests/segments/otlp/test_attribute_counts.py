"""Counts of records by attribute, against a count of the messages one by one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from segments.attribute_counts import (
    ATTRIBUTES_MAX,
    NAME_BYTES_MAX,
    AttributeCount,
    AttributeCounts,
)
from segments.otlp.arrow import Array
from segments.otlp.counted_attributes import count_attributes
from segments.otlp.decode import decode
from segments.otlp.typed_attributes import attribute_lists

VALUES = st.one_of(
    st.just(AnyValue(string_value="a")),
    st.just(AnyValue(string_value="")),
    st.just(AnyValue(int_value=0)),
    st.just(AnyValue(double_value=1.5)),
    st.just(AnyValue(bool_value=True)),
    st.just(AnyValue()),
)
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b.c", "é", "d"]), VALUES), min_size=1, max_size=40
)


def lists_of(records: list[dict[str, AnyValue]]) -> Array:
    data = LogsData()
    logs = data.resource_logs.add().scope_logs.add().log_records
    for record in records:
        entries = [KeyValue(key=key, value=value) for key, value in record.items()]
        logs.append(LogRecord(attributes=entries))
    decoded = decode("logs", [data.SerializeToString()], [1])
    return attribute_lists(decoded.attributes, 0, len(records))[1]


@given(RECORDS, st.data())
def test_counts_are_those_of_the_records(
    records: list[dict[str, AnyValue]], data: st.DataObject
) -> None:
    lists = lists_of(records)
    start = data.draw(st.integers(0, len(records)))
    counts = AttributeCounts()

    counts.add(count_attributes("logs", lists.slice(0, start)))
    counts.add(count_attributes("logs", lists.slice(start, len(records) - start)))

    (sums,) = counts.most_frequent()
    assert (sums.signal, sums.records) == ("logs", len(records))
    by_type: Counter[tuple[str, str | None]] = Counter(
        (key, value.WhichOneof("value")) for record in records for key, value in record.items()
    )
    assert sums.attributes == {
        key: AttributeCount(
            sum(number for (of, _), number in by_type.items() if of == key),
            by_type[key, "string_value"],
            by_type[key, "int_value"],
        )
        for key in {of for of, _ in by_type}
    }


def test_a_name_that_a_record_repeats_counts_once_and_without_a_type() -> None:
    data = LogsData()
    logs = data.resource_logs.add().scope_logs.add().log_records
    for values in ([1, 2, 3], [4], []):
        entries = [KeyValue(key="a", value=AnyValue(int_value=value)) for value in values]
        entries.append(KeyValue(key="b", value=AnyValue(int_value=1)))
        logs.append(LogRecord(attributes=entries))
    decoded = decode("logs", [data.SerializeToString()], [1])
    counts = AttributeCounts()

    counts.add(count_attributes("logs", attribute_lists(decoded.attributes, 0, 3)[1]))

    (sums,) = counts.most_frequent()
    assert sums.attributes == {"a": AttributeCount(2, 0, 0), "b": AttributeCount(3, 0, 3)}


@pytest.mark.parametrize(("length", "number"), [(NAME_BYTES_MAX, 1), (NAME_BYTES_MAX + 1, 0)])
def test_longer_names_are_not_counted(length: int, number: int) -> None:
    counts = AttributeCounts()

    counts.add(count_attributes("logs", lists_of([{"k" * length: AnyValue(int_value=1)}])))

    (sums,) = counts.most_frequent()
    assert (sums.records, len(sums.attributes)) == (1, number)


def test_few_names_are_kept_however_many_there_are() -> None:
    value = AnyValue(string_value="v")
    counts = AttributeCounts()

    for part in range(10):
        records = [{f"{part}.{rank}": value} for rank in range(300)]
        counts.add(
            count_attributes("logs", lists_of([*records, {"often": value}, {"often": value}]))
        )

    assert len(counts._attributes) <= 600
    (sums,) = counts.most_frequent()
    assert sums.attributes["often"] == AttributeCount(20, 20, 0)


def test_counts_of_several_tasks_are_added() -> None:
    counts, others = AttributeCounts(), AttributeCounts()
    counts.add(count_attributes("logs", lists_of([{"a": AnyValue(int_value=1)}])))
    others.add(count_attributes("logs", lists_of([{"a": AnyValue(string_value="1")}, {}])))
    others.add(count_attributes("traces", lists_of([{"a": AnyValue()}])))

    for own in others.most_frequent():
        counts.add(own)

    logs, traces = counts.most_frequent()
    assert (logs.records, logs.attributes) == (3, {"a": AttributeCount(2, 1, 1)})
    assert (traces.signal, traces.attributes) == ("traces", {"a": AttributeCount(1, 0, 0)})


@pytest.mark.parametrize("number", [ATTRIBUTES_MAX, ATTRIBUTES_MAX + 1, 3_000])
def test_no_more_attributes_are_named_than_a_registration_may(number: int) -> None:
    value = AnyValue(string_value="v")
    records = [{f"rare{rank}": value for rank in range(number)}, {"often": value}, {"often": value}]
    counts = AttributeCounts()

    counts.add(count_attributes("logs", lists_of(records)))

    (sums,) = counts.most_frequent()
    assert len(sums.attributes) == ATTRIBUTES_MAX
    assert sums.attributes["often"] == AttributeCount(2, 2, 0)
