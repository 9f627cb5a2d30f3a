"""The nine types of queries in Arrow, as every way of reading a view gives them."""

from collections.abc import Mapping

import pyarrow as pa

from kql.types import KqlType

_TYPES: dict[KqlType, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "real": pa.float64(),
    "string": pa.string(),
    "datetime": pa.timestamp("us", "UTC"),
    # Nanoseconds, which neither Parquet nor Spark have a type for.
    "timespan": pa.int64(),
    "guid": pa.string(),
    # JSON text.
    "dynamic": pa.string(),
}


def arrow_schema(columns: Mapping[str, KqlType]) -> pa.Schema:
    """Return columns of a query as Arrow's."""
    return pa.schema([pa.field(name, _TYPES[type_]) for name, type_ in columns.items()])
