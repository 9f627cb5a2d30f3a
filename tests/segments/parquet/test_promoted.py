"""Promoted columns: which attribute values fit which type."""

import pyarrow as pa
import pytest

from segments.parquet.columns.promoted import promote
from segments.parquet.columns.promoted_values import JsonValue, Unconvertible, convert
from segments.parquet.spec import PromotedColumn

NANOS = 10**9


@pytest.mark.parametrize(
    ("kql_type", "value", "expected"),
    [
        ("string", "text", "text"),
        ("string", 7, "7"),
        ("string", 7.5, "7.5"),
        ("string", True, "true"),
        ("bool", False, False),
        ("bool", "TRUE", True),
        ("int", 7, 7),
        ("int", "-7", -7),
        ("int", 7.0, 7),
        ("long", 2**63 - 1, 2**63 - 1),
        ("real", 7, 7.0),
        ("real", "1e3", 1000.0),
        ("real", "-Infinity", float("-inf")),
        ("datetime", "1970-01-01T00:00:02Z", 2 * NANOS),
        ("datetime", "1970-01-01T01:00:00.000001+01:00", 1_000),
        ("datetime", "1970-01-01", 0),
        ("datetime", 12, 12),
        ("timespan", 12, 12),
        ("guid", "0198A7C0-0000-7000-8000-000000000001", "0198a7c0-0000-7000-8000-000000000001"),
        ("guid", "0198a7c0000070008000000000000001", "0198a7c0-0000-7000-8000-000000000001"),
        ("long", None, None),
    ],
)
def test_a_value_that_fits_is_converted(
    kql_type: str, value: JsonValue, expected: JsonValue
) -> None:
    assert convert(value, kql_type) == expected


@pytest.mark.parametrize(
    ("kql_type", "value"),
    [
        ("string", ["a"]),
        ("string", {"a": 1}),
        ("bool", 1),
        ("bool", "yes"),
        ("int", 2**31),
        ("int", True),
        ("int", 7.5),
        ("int", float("inf")),
        ("int", "seven"),
        ("long", 2**63),
        ("real", "many"),
        ("real", True),
        ("datetime", "yesterday"),
        ("datetime", "9999-01-01T00:00:00Z"),
        ("timespan", "1s"),
        ("guid", "not one"),
        ("guid", 7),
    ],
)
def test_a_value_that_does_not_fit_is_refused(kql_type: str, value: JsonValue) -> None:
    with pytest.raises(Unconvertible):
        convert(value, kql_type)


def column(scope: str, attribute: str, kql_type: str = "string") -> PromotedColumn:
    return PromotedColumn("c", kql_type, scope, attribute)


def batch(attributes: list[str | None]) -> pa.RecordBatch:
    return pa.record_batch({"attributes": pa.array(attributes, pa.string())})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"k":"a","k":"b"}', "a"),
        ('{"x":{"k":"inner"},"k":"outer"}', "outer"),
        ('{"x":{"k":"inner"}}', None),
        ('{"x":"\\"k\\":\\"text\\""}', None),
        ('{"k":null}', None),
        ("{}", None),
        (None, None),
    ],
    ids=["first of two", "beside nested", "nested", "within text", "null", "empty", "absent"],
)
def test_only_the_attribute_itself_is_read(text: str | None, expected: str | None) -> None:
    ((found,), failures) = promote(batch([text]), [column("record", "k")])

    assert (found.to_pylist(), failures.total()) == ([expected], 0)


def test_keys_are_matched_exactly_whatever_they_hold() -> None:
    rows = batch(['{"a\\"b":"quote"}', '{"ключ":"ключ"}', '{"a.b":"dot"}', '{"aXb":"no"}'])

    found = [
        promote(rows, [column("record", key)])[0][0].to_pylist() for key in ('a"b', "ключ", "a.b")
    ]

    assert found == [
        ["quote", None, None, None],
        [None, "ключ", None, None],
        [None, None, "dot", None],
    ]


def test_a_value_of_a_resource_is_converted_once_and_serves_all_its_rows() -> None:
    resources = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0, 1], pa.int32()), pa.array(['{"n":1}', '{"n":"one"}'])
    )
    rows = pa.record_batch({"resource_attributes": resources})

    ((found,), failures) = promote(rows, [column("resource", "n", "long")])

    assert found.to_pylist() == [1, None, None, 1, None]
    assert failures == {"c": 1}
