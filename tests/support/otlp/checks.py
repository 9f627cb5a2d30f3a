"""Compares decoded columns with what the official classes say."""

import json
import math
from typing import Any

import pyarrow as pa

from segments.otlp.decode import Decoded
from tests.support.otlp.oracle import pairs

RECEIVED_AT = 1_699_999_999_123_456_789
JSON_COLUMNS = {
    "resource_attributes",
    "resource_entity_refs",
    "scope_attributes",
    "attributes",
    "metric_metadata",
    "events",
    "links",
    "exemplars",
}


def parse(text: str) -> Any:
    return _tuples(json.loads(text, object_pairs_hook=pairs))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def decoded_rows(decoded: Decoded) -> list[dict[str, Any]]:
    if decoded.table is None:
        return []
    columns: dict[str, list[Any]] = {}
    for name in decoded.table.column_names:
        column = decoded.table[name]
        columns[name] = (
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        ).to_pylist()
    out = []
    for index in range(decoded.table.num_rows):
        row = {name: values[index] for name, values in columns.items()}
        out.append({k: _parsed(k, row) for k, v in row.items() if v is not None and k != "signal"})
    return out


def _parsed(name: str, row: dict[str, Any]) -> Any:
    if name in JSON_COLUMNS:
        return parse(row[name])
    if name == "body":
        return ("text", row[name] if row["body_type"] == "string" else parse(row[name]))
    return row[name]


def same(found: Any, expected: Any) -> bool:
    """Equal in value and type, NaN being itself and -0.0 not 0.0."""
    if isinstance(expected, float) and isinstance(found, float):
        return (math.isnan(found) and math.isnan(expected)) or (
            found == expected and math.copysign(1, found) == math.copysign(1, expected)
        )
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in found)
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    return type(found) is type(expected) and found == expected


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        if isinstance(want.get("service_name"), tuple) and "service_name" in got:
            got["service_name"] = ("json", parse(got["service_name"]))
        assert got.keys() == want.keys()
        for name in want:
            assert same(got[name], want[name]), (name, got[name], want[name])
