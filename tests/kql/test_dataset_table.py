"""The columns that queries know are those that segments have."""

import pyarrow as pa

from kql.dataset_table import FORMAT_COLUMNS, LISTS
from kql.types import TYPES, KqlType
from meta.v1 import common_pb2
from segments.parquet.schema import TIMESTAMP, wide_columns
from segments.signals import SIGNALS

JSON_COLUMNS = {
    "attributes", "resource_attributes", "scope_attributes", "resource_entity_refs",
    "events", "links", "exemplars", "metric_metadata",
}  # fmt: skip


def test_the_columns_are_those_of_the_format() -> None:
    expected: dict[str, KqlType] = {"duration": "timespan"}
    for column in wide_columns(SIGNALS):
        expected[column.name] = kql_type(column.name, column.type)
        if column.type == TIMESTAMP:
            expected[f"{column.name}_nanos"] = "int"

    assert dict(FORMAT_COLUMNS) == expected
    lists = {c.name for c in wide_columns(SIGNALS) if pa.types.is_list(c.type)}
    assert lists == LISTS


def kql_type(name: str, type_: pa.DataType) -> KqlType:
    """Return the type that queries see a column as."""
    if name in JSON_COLUMNS or pa.types.is_list(type_):
        return "dynamic"
    if type_ == TIMESTAMP:
        return "datetime"
    if pa.types.is_dictionary(type_) or pa.types.is_string(type_):
        return "string"
    names: dict[pa.DataType, KqlType] = {
        pa.int32(): "int", pa.int64(): "long", pa.float64(): "real", pa.bool_(): "bool",
    }  # fmt: skip
    return names[type_]


def test_the_types_are_numbered_as_in_the_contract() -> None:
    names = [name.removeprefix("KQL_TYPE_").lower() for name in common_pb2.KqlType.keys()]  # noqa: SIM118

    assert list(TYPES) == names
