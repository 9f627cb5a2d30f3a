"""Converts merged segments back into OTLP, to prove that nothing is lost.

It works row by row with the official classes. docs/segment-format.md lists the
fields that a segment does not keep. `timestamp` comes back as the record's own time even if the
record had none.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import Exemplar, Metric, MetricsData
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

Row = Mapping[str, Any]

_UINT64 = 2**64
_RESOURCE = (
    "resource_attributes",
    "resource_dropped_attributes_count",
    "resource_schema_url",
    "resource_entity_refs",
)
_SCOPE = (
    "scope_name",
    "scope_version",
    "scope_attributes",
    "scope_dropped_attributes_count",
    "scope_schema_url",
)


class Pairs(list[tuple[str, Any]]):
    """A JSON object with its order and its duplicate keys."""


def to_logs(table: pa.Table) -> LogsData:
    """Log records of a section as one message, in the order of the rows."""
    data = LogsData()
    for row, scope in _containers(table, data.resource_logs, "scope_logs"):
        _fill_log(scope.log_records.add(), row)
    return data


def to_traces(table: pa.Table) -> TracesData:
    """Spans of a section as one message."""
    data = TracesData()
    for row, scope in _containers(table, data.resource_spans, "scope_spans"):
        _fill_span(scope.spans.add(), row)
    return data


def to_metrics(table: pa.Table) -> MetricsData:
    """Data points of a section as one message, each in its own metric."""
    data = MetricsData()
    for row, scope in _containers(table, data.resource_metrics, "scope_metrics"):
        _fill_metric(scope.metrics.add(), row)
    return data


def _containers(table: pa.Table, resources: Any, member: str) -> Iterator[tuple[Row, Any]]:
    """Rows with the scope container they belong to; runs of equal resource and scope share one."""
    last_resource: tuple[Any, ...] | None = None
    last_scope: tuple[Any, ...] | None = None
    container: Any = None
    scope: Any = None
    for row in _rows(table):
        resource_key = tuple(row[name] for name in _RESOURCE)
        scope_key = tuple(row[name] for name in _SCOPE)
        if resource_key != last_resource:
            container, last_resource, last_scope = resources.add(), resource_key, None
            _fill_resource(container, row)
        if scope_key != last_scope:
            scope, last_scope = getattr(container, member).add(), scope_key
            _fill_scope(scope, row)
        yield row, scope


def _rows(table: pa.Table) -> Iterator[Row]:
    """Rows as Python values, times as nanoseconds."""
    for batch in table.to_batches(1024):
        columns = {
            field.name: (
                column.cast(pa.int64()) if pa.types.is_timestamp(field.type) else column
            ).to_pylist()
            for field, column in zip(batch.schema, batch.columns, strict=True)
        }
        for index in range(batch.num_rows):
            yield {name: values[index] for name, values in columns.items()}


def _fill_resource(container: Any, row: Row) -> None:
    container.schema_url = row["resource_schema_url"] or ""
    if row["resource_attributes"] is None:
        return
    container.resource.SetInParent()
    resource: Resource = container.resource
    _fill_attributes(resource.attributes, row["resource_attributes"])
    resource.dropped_attributes_count = row["resource_dropped_attributes_count"]
    for entity_ref in _objects(row["resource_entity_refs"]):
        resource.entity_refs.add(**dict(entity_ref))


def _fill_scope(container: Any, row: Row) -> None:
    container.schema_url = row["scope_schema_url"] or ""
    if row["scope_attributes"] is None:
        return
    container.scope.SetInParent()
    scope: InstrumentationScope = container.scope
    scope.name = row["scope_name"] or ""
    scope.version = row["scope_version"] or ""
    _fill_attributes(scope.attributes, row["scope_attributes"])
    scope.dropped_attributes_count = row["scope_dropped_attributes_count"]


def _fill_log(record: LogRecord, row: Row) -> None:
    record.time_unix_nano = row["timestamp"]
    record.observed_time_unix_nano = row["observed_timestamp"] or 0
    record.severity_number = row["severity_number"]
    record.severity_text = row["severity_text"] or ""
    record.event_name = row["event_name"] or ""
    record.trace_id = bytes.fromhex(row["trace_id"] or "")
    record.span_id = bytes.fromhex(row["span_id"] or "")
    _fill_record(record, row)
    if row["body_type"] is not None:
        record.body.SetInParent()
        _fill_body(record.body, row["body"], row["body_type"])


def _fill_body(value: AnyValue, text: str | None, kind: str) -> None:
    if text is None:
        return
    if kind == "string":
        value.string_value = text
    elif kind == "bytes":
        value.bytes_value = base64.b64decode(json.loads(text))
    elif kind == "double":
        value.double_value = _double(json.loads(text))
    else:
        _fill_value(value, _parse(text))


def _fill_span(span: Span, row: Row) -> None:
    span.start_time_unix_nano = row["timestamp"]
    span.end_time_unix_nano = row["end_timestamp"] or 0
    for name in ("trace_id", "span_id", "parent_span_id"):
        setattr(span, name, bytes.fromhex(row[name] or ""))
    span.trace_state = row["trace_state"] or ""
    span.name = row["name"] or ""
    span.kind = row["kind"]
    if row["status_code"] is not None:
        span.status.SetInParent()
        span.status.code = row["status_code"]
        span.status.message = row["status_message"] or ""
    for members in _objects(row["events"]):
        _fill_member(span.events.add(), members)
    for members in _objects(row["links"]):
        _fill_member(span.links.add(), members)
    span.dropped_events_count = row["dropped_events_count"]
    span.dropped_links_count = row["dropped_links_count"]
    _fill_record(span, row)


def _fill_record(record: LogRecord | Span, row: Row) -> None:
    _fill_attributes(record.attributes, row["attributes"])
    record.flags = row["flags"]
    record.dropped_attributes_count = row["dropped_attributes_count"]


def _fill_metric(metric: Metric, row: Row) -> None:
    metric.name = row["metric_name"] or ""
    metric.unit = row["metric_unit"] or ""
    metric.description = row["metric_description"] or ""
    _fill_attributes(metric.metadata, row["metric_metadata"])
    body: Any = getattr(metric, row["metric_type"])
    for name in ("aggregation_temporality", "is_monotonic"):
        if row[name] is not None:
            setattr(body, name, row[name])
    _fill_point(body.data_points.add(), row)


# The columns of a data point's numbers, and its fields.
_NUMBERS = {
    "value_double": "as_double",
    "value_long": "as_int",
    **{name: name for name in ("sum", "min", "max", "scale", "zero_threshold")},
}


def _fill_point(point: Any, row: Row) -> None:
    """Every column that is set belongs to the kind of point at hand."""
    point.time_unix_nano = row["timestamp"]
    point.start_time_unix_nano = row["start_timestamp"] or 0
    _fill_attributes(point.attributes, row["attributes"])
    point.flags = row["flags"]
    for column, name in _NUMBERS.items():
        if row[column] is not None:
            setattr(point, name, row[column])
    for name in ("count", "zero_count"):
        if row[name] is not None:
            setattr(point, name, row[name] % _UINT64)
    if row["bucket_counts"] is not None:
        point.bucket_counts.extend(count % _UINT64 for count in row["bucket_counts"])
        point.explicit_bounds.extend(row["explicit_bounds"])
    for side in ("positive", "negative"):
        _fill_buckets(point, side, row)
    for quantile in row["quantiles"] or ():
        point.quantile_values.add(**quantile)
    for members in _objects(row["exemplars"]):
        exemplar: Exemplar = point.exemplars.add()
        _fill_member(exemplar, members)


def _fill_buckets(point: Any, side: str, row: Row) -> None:
    """Fill the positive or negative buckets of an exponential histogram, if it has them."""
    if row[f"{side}_offset"] is None:
        return
    buckets = getattr(point, side)
    buckets.SetInParent()
    buckets.offset = row[f"{side}_offset"]
    buckets.bucket_counts.extend(count % _UINT64 for count in row[f"{side}_bucket_counts"])


def _fill_member(message: Any, members: Sequence[tuple[str, Any]]) -> None:
    """Fill an event, link or exemplar from its JSON object, whose keys are the field names."""
    for name, value in members:
        if name.endswith("attributes"):
            _fill_pairs(getattr(message, name), value)
        elif name.endswith("_id"):
            setattr(message, name, bytes.fromhex(value))
        else:
            setattr(message, name, _double(value) if name == "as_double" else value)


def _fill_attributes(entries: Any, text: str | None) -> None:
    if text is not None:
        _fill_pairs(entries, _parse(text))


def _fill_pairs(entries: Any, pairs: Sequence[tuple[str, Any]]) -> None:
    for key, value in pairs:
        entry: KeyValue = entries.add(key=key)
        entry.value.SetInParent()
        _fill_value(entry.value, value)


def _fill_value(value: AnyValue, content: Any) -> None:
    """An AnyValue from JSON; null leaves it unset."""
    match content:
        case bool():
            value.bool_value = content
        case int():
            value.int_value = content
        case float():
            value.double_value = content
        case str():
            value.string_value = content
        case Pairs():
            value.kvlist_value.SetInParent()
            _fill_pairs(value.kvlist_value.values, content)
        case list():
            value.array_value.SetInParent()
            for item in content:
                _fill_value(value.array_value.values.add(), item)


def _objects(text: str | None) -> list[Pairs]:
    return [] if text is None else list(_parse(text))


def _parse(text: str) -> Any:
    return json.loads(text, object_pairs_hook=Pairs)


def _double(value: float | str) -> float:
    return float(value)
