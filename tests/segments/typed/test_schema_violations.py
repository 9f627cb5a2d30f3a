"""Records that violate the schema: found alike by collectors and nurseries, and taken out alone."""

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from dataplane.babies.columns import DecodedDataset
from dataplane.babies.conformity import QuarantinedPart
from dataplane.babies.decoding import RoutedPayload, decode_pass
from dataplane.babies.payload import Payload
from dataplane.babies.reads import DatasetWork
from segments.otlp.official import OFFICIAL_CLASSES
from segments.parquet.columns import promoted_values
from segments.parquet.columns.promoted_values import CERTAIN_TEXTS, Unconvertible, convert
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import SIGNALS, Signal
from segments.typed.conformity import (
    MISFITS_MAX,
    ColumnMisfit,
    SchemaMisfits,
    verdict,
)
from segments.typed.division import divide
from segments.typed.payload_check import PayloadCheck
from tests.support.examples import examples
from tests.support.otlp.messages import fill

TYPES = sorted(promoted_values._CONVERTERS)
SCOPES = ("record", "resource", "scope")
KEYS = ("a", "price", "paid.at", "é")
VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"string_value": "12"},
    {"string_value": "x" * 200},
    {"string_value": "2026-11-26T11:00:00Z"},
    {"string_value": "2026-02-30T11:00:00Z"},
    {"string_value": "5b8efff7-98a3-4a6c-9d0e-7a1c2b3d4e5f"},
    {"string_value": "true"},
    {"bool_value": True},
    {"int_value": 7},
    {"int_value": -7},
    {"int_value": 2**40},
    {"double_value": 3.0},
    {"double_value": 3.5},
    {"double_value": float("nan")},
    {"double_value": float("-inf")},
    {"bytes_value": b"12"},
    {"array_value": ArrayValue(values=[AnyValue(int_value=1)])},
)


class _Dataset(DecodedDataset):
    def rows(self) -> Counter[str]:
        return Counter(
            repr(row)
            for tables in self.columns.tables.values()
            for rows in tables
            for row in rows.table.to_pylist()
        )


def decoded(
    signal: Signal, body: bytes, spec: SegmentSpec
) -> tuple[_Dataset, list[QuarantinedPart]]:
    dataset = _Dataset(0, DatasetWork("d", spec, ()))
    payload = Payload("s", 0, "t", signal, 0, body, 1, len(body), is_validated=True)
    left_out = decode_pass(signal, [RoutedPayload(dataset, payload)])
    assert not left_out.undecodable
    return dataset, [part for _, part in left_out.schema_violations]


def with_values(signal: Signal, rnd: random.Random) -> bytes:
    """Make a payload whose lists of attributes have the keys and values above, some twice."""
    message = fill(OFFICIAL_CLASSES[signal](), rnd)
    _walk(message, rnd)
    payload: bytes = message.SerializeToString()
    return payload


def _walk(message: Any, rnd: random.Random) -> None:
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        if descriptor.name != "attributes":
            for child in value if not hasattr(value, "ListFields") else (value,):
                _walk(child, rnd)
            continue
        for _ in range(rnd.randrange(4)):
            value.add(key=rnd.choice(KEYS), value=AnyValue(**rnd.choice(VALUES)))


COLUMNS = st.lists(
    st.tuples(st.sampled_from(TYPES), st.sampled_from(SCOPES), st.sampled_from(KEYS)),
    min_size=1,
    max_size=5,
)


@given(signal=st.sampled_from(SIGNALS), seed=st.integers(0, 2**32), chosen=COLUMNS)
@settings(deadline=None, max_examples=examples(150))
def test_rows_and_quarantined_records_are_the_records_of_the_payload(
    signal: Signal, seed: int, chosen: list[tuple[str, str, str]]
) -> None:
    body = with_values(signal, random.Random(seed))
    promoted = tuple(
        PromotedColumn(f"c{n}", kql_type, scope, key)
        for n, (kql_type, scope, key) in enumerate(chosen)
    )
    spec = SegmentSpec(promoted=promoted, enforced=frozenset(c.name for c in promoted))
    every, none = decoded(signal, body, SegmentSpec(promoted=promoted))
    kept, parts = decoded(signal, body, spec)

    aside: Counter[str] = Counter()
    for part in parts:
        aside += decoded(signal, part.payload.body, SegmentSpec(promoted=promoted))[0].rows()
        assert len(part.schema_violations.records) == aside.total()
    assert none == []
    assert kept.rows() + aside == every.rows()
    assert not kept.unconverted
    # Collectors find the same records without Arrow, and pass on the same rows.
    check = PayloadCheck(list(promoted))
    found = check.schema_violations(signal, body)
    assert found == (parts[0].schema_violations if parts else SchemaMisfits())
    rest, _ = divide(signal, body, frozenset(found.records))
    assert decoded(signal, rest, spec)[0].rows() == kept.rows()
    assert decoded(signal, rest, spec)[1] == []


@pytest.mark.parametrize("kql_type", TYPES)
def test_collectors_and_columns_judge_each_value_by_one_rule(kql_type: str) -> None:
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for value in VALUES:
        records.add().attributes.add(key="a", value=AnyValue(**value))
    body = data.SerializeToString()
    column = PromotedColumn("a", kql_type, "record", "a")

    found = PayloadCheck([column]).schema_violations("logs", body)
    dataset, _ = decoded("logs", body, SegmentSpec(promoted=(column,)))

    assert len(found.records) == dataset.unconverted["a"]
    (table,) = dataset.columns.tables["logs"]
    values = table.table["a"].to_pylist()
    assert all(values[record] is None for record in found.records)


def test_a_long_text_is_judged_by_its_kind_and_not_by_its_length() -> None:
    """The second byte of a length of 3,072 is the tag of a whole number."""
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    records.add().attributes.add(key="n").value.string_value = "x" * 3_069
    check = PayloadCheck([PromotedColumn("n", "long", "record", "n")])

    judged = check.schema_violations("logs", data.SerializeToString())

    assert records[0].attributes[0].value.ByteSize() == 3_072
    assert judged.misfits == [ColumnMisfit(0, "n", "a text that is no long")]


@given(text=st.from_regex(CERTAIN_TEXTS["datetime"], fullmatch=True))
@settings(deadline=None)
def test_a_time_that_is_certain_converts(text: bytes) -> None:
    assert convert(text.decode(), "datetime") is not None


@given(text=st.from_regex(CERTAIN_TEXTS["guid"], fullmatch=True))
@settings(deadline=None)
def test_a_guid_that_is_certain_converts(text: bytes) -> None:
    assert convert(text.decode(), "guid") is not None


def test_a_column_without_a_rule_of_kinds_is_none_of_the_types() -> None:
    """The same types are listed where kinds of values are told by three bytes."""
    for kql_type in TYPES:
        PayloadCheck([PromotedColumn("c", kql_type, "record", "c")]).schema_violations("logs", b"")
    with pytest.raises((Unconvertible, KeyError)):
        convert("x", "unknown")


def test_of_attributes_of_one_name_the_first_is_judged() -> None:
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for first, second in ((1, "x"), ("x", 1)):
        attributes = records.add().attributes
        for value in (first, second):
            added = attributes.add(key="n").value
            if isinstance(value, int):
                added.int_value = value
            else:
                added.string_value = str(value)
    check = PayloadCheck([PromotedColumn("n", "long", "record", "n")])

    found = check.schema_violations("logs", data.SerializeToString())

    assert found.misfits == [ColumnMisfit(1, "n", "a text that is no long")]


@pytest.mark.parametrize("number", [MISFITS_MAX, MISFITS_MAX + 1])
def test_the_first_hundred_misfits_are_listed_and_all_records_counted(number: int) -> None:
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for _ in range(number):
        records.add().attributes.add(key="n").value.string_value = "secret"
    check = PayloadCheck([PromotedColumn("n", "long", "record", "n")])

    found = check.schema_violations("logs", data.SerializeToString())

    assert len(found.misfits) == MISFITS_MAX
    assert found.records == list(range(number))
    assert "secret" not in found.text(3)
    assert found.text(3).endswith(f"and {number - 3} further records")


def test_a_verdict_names_its_dataset_and_columns() -> None:
    price, other = (PromotedColumn(n, "long", "record", n) for n in ("price", "other"))

    assert verdict("d", [price, other]) == verdict("d", [other, price])
    others = [verdict("e", [price]), verdict("d", []), verdict("d", [other])]
    assert verdict("d", [price]) not in others
    assert len(verdict("d", [price])) == 16
