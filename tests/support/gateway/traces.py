"""Spans and logs of traces, as rows of segments."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from segments.parquet.schema import section_schema
from segments.signals import Signal
from tests.support.gateway.segments import SegmentWriter

MS = 10**6
TRACE = "0af7651916cd43dd8448eb211c80319c"
Row = Mapping[str, Any]


def span_row(
    span_id: str,
    parent: str = "",
    *,
    start_nanos: int,
    length_ms: int = 10,
    trace_id: str = TRACE,
    attributes: Mapping[str, object] | None = None,
    **columns: Any,
) -> Row:
    """Return the row of a span."""
    length = length_ms * MS
    return {
        "signal": "traces",
        "timestamp": start_nanos,
        "end_timestamp": start_nanos + length,
        "duration_ns": length,
        "trace_id": trace_id,
        "span_id": span_id,
        "parent_span_id": parent or None,
        "service_name": "shop",
        "name": f"op {span_id}",
        "kind": 1,
        "status_code": 0,
        "attributes": json.dumps(attributes or {}),
        **columns,
    }


def log_row(body: str, *, nanos: int, trace_id: str | None = TRACE, **columns: Any) -> Row:
    """Return the row of a log record."""
    return {
        "signal": "logs",
        "timestamp": nanos,
        "trace_id": trace_id,
        "service_name": "shop",
        "severity_number": 9,
        "body": body,
        "body_type": "string",
        "attributes": "{}",
        **columns,
    }


def write_rows(segments: SegmentWriter, **rows: Sequence[Row]) -> None:
    """Register a segment of these rows, by signal."""
    tables: dict[Signal, pa.Table] = {}
    for signal, records in rows.items():
        name = cast(Signal, signal)
        schema = section_schema(name)
        columns = [pa.array([row.get(f.name) for row in records], _plain(f.type)) for f in schema]
        encoded = [
            column.dictionary_encode() if pa.types.is_dictionary(field.type) else column
            for column, field in zip(columns, schema, strict=True)
        ]
        tables[name] = pa.table(encoded, schema=schema)
    segments.register(tables, segments.spec())


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
