"""Expected rows of decoding OTLP, from the official classes."""

import base64
import math
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
# A JSON object as its pairs, so that order and duplicate keys count.
Pairs = tuple[str, tuple[tuple[str, Any], ...]]


def pairs(items: list[tuple[str, Any]]) -> Pairs:
    """An object in the form that comparisons use."""
    return ("object", tuple((key, _listed(value)) for key, value in items))


def _listed(value: Any) -> Any:
    return tuple(_listed(v) for v in value) if isinstance(value, list) else value


def value_of(any_value: Message) -> Any:
    """An AnyValue as what its JSON must parse to."""
    kind = any_value.WhichOneof("value")
    if kind is None or kind == "string_value_strindex":
        return None
    value = getattr(any_value, kind)
    if kind == "array_value":
        return tuple(value_of(v) for v in value.values)
    if kind == "kvlist_value":
        return attributes_of(value.values)
    if kind == "bytes_value":
        return base64.b64encode(value).decode()
    return double_of(value) if kind == "double_value" else value


def double_of(value: float) -> float | str:
    """A double as what its JSON must parse to."""
    if math.isnan(value):
        return "NaN"
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, value)


def attributes_of(entries: Any) -> Pairs:
    """An attribute list as what its JSON must parse to."""
    return pairs([(e.key, value_of(e.value)) for e in entries])


def rows(signal: str, data: Any, received_at: int) -> list[dict[str, Any]]:
    """Every record of a payload with all columns that are not null, in the decoder's order."""
    if signal == "logs":
        return [
            _drop({**around, **_log(r, received_at)})
            for _, scope, around in _scopes(data.resource_logs, "scope_logs")
            for r in scope.log_records
        ]
    if signal == "traces":
        return [
            _drop({**around, **_span(s, received_at)})
            for _, scope, around in _scopes(data.resource_spans, "scope_spans")
            for s in scope.spans
        ]
    return [
        _drop({**around, **_point(kind, metric, point, received_at)})
        for kind in KINDS
        for _, scope, around in _scopes(data.resource_metrics, "scope_metrics")
        for metric in scope.metrics
        if metric.WhichOneof("data") == kind
        for point in getattr(metric, kind).data_points
    ]


def _drop(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _scopes(containers: Any, member: str) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    for container in containers:
        for scope in getattr(container, member):
            around = {
                "resource_schema_url": container.schema_url or None,
                "scope_schema_url": scope.schema_url or None,
            }
            if container.HasField("resource"):
                around.update(_resource(container.resource))
            if scope.HasField("scope"):
                around.update(_scope(scope.scope))
            yield container, scope, around


def _resource(resource: Any) -> dict[str, Any]:
    names = [a.value for a in resource.attributes if a.key == "service.name"]
    entities = tuple(
        pairs(
            [
                ("schema_url", e.schema_url),
                ("type", e.type),
                ("id_keys", list(e.id_keys)),
                ("description_keys", list(e.description_keys)),
            ]
        )
        for e in resource.entity_refs
    )
    return {
        "service_name": _service_name(names[0]) if names else None,
        "resource_attributes": attributes_of(resource.attributes),
        "resource_dropped_attributes_count": resource.dropped_attributes_count,
        "resource_entity_refs": entities or None,
    }


def _service_name(value: Any) -> Any:
    """Text as it is, anything else as its JSON."""
    if value.WhichOneof("value") == "string_value":
        return value.string_value or None
    return None if value_of(value) is None else ("json", value_of(value))


def _text(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return value.string_value if kind == "string_value" else value_of(value)


def _scope(scope: Any) -> dict[str, Any]:
    return {
        "scope_name": scope.name or None,
        "scope_version": scope.version or None,
        "scope_attributes": attributes_of(scope.attributes),
        "scope_dropped_attributes_count": scope.dropped_attributes_count,
    }


def time_of(nanos: int) -> int | None:
    """A time as its column must hold it."""
    return nanos if 0 < nanos < 2**63 else None


def _first(*times: int | None) -> int | None:
    return next((t for t in times if t is not None), None)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _log(r: Any, received_at: int) -> dict[str, Any]:
    kind = (r.body.WhichOneof("value") or "empty").removesuffix("_value")
    kind = "empty" if kind == "string_value_strindex" else kind
    body = ("text", _text(r.body)) if kind != "empty" else None
    observed = time_of(r.observed_time_unix_nano)
    return {
        "timestamp": _first(time_of(r.time_unix_nano), observed, received_at),
        "observed_timestamp": observed,
        "trace_id": r.trace_id.hex() or None,
        "span_id": r.span_id.hex() or None,
        "severity_number": r.severity_number,
        "severity_text": r.severity_text or None,
        "event_name": r.event_name or None,
        "body": body if r.HasField("body") else None,
        "body_type": kind if r.HasField("body") else None,
        "attributes": attributes_of(r.attributes),
        "flags": r.flags,
        "dropped_attributes_count": r.dropped_attributes_count,
    }


def _span(s: Any, received_at: int) -> dict[str, Any]:
    start, end = time_of(s.start_time_unix_nano), time_of(s.end_time_unix_nano)
    events = tuple(
        pairs(
            [
                ("time_unix_nano", e.time_unix_nano),
                ("name", e.name),
                ("attributes", attributes_of(e.attributes)),
                ("dropped_attributes_count", e.dropped_attributes_count),
            ]
        )
        for e in s.events
    )
    links = tuple(
        pairs(
            [
                ("trace_id", e.trace_id.hex()),
                ("span_id", e.span_id.hex()),
                ("trace_state", e.trace_state),
                ("attributes", attributes_of(e.attributes)),
                ("dropped_attributes_count", e.dropped_attributes_count),
                ("flags", e.flags),
            ]
        )
        for e in s.links
    )
    return {
        "timestamp": _first(start, received_at),
        "end_timestamp": end,
        "duration_ns": None if start is None or end is None else end - start,
        "trace_id": s.trace_id.hex() or None,
        "span_id": s.span_id.hex() or None,
        "parent_span_id": s.parent_span_id.hex() or None,
        "trace_state": s.trace_state or None,
        "name": s.name or None,
        "kind": s.kind,
        "status_code": s.status.code if s.HasField("status") else None,
        "status_message": s.status.message or None,
        "attributes": attributes_of(s.attributes),
        "events": events or None,
        "links": links or None,
        "flags": s.flags,
        "dropped_attributes_count": s.dropped_attributes_count,
        "dropped_events_count": s.dropped_events_count,
        "dropped_links_count": s.dropped_links_count,
    }


def _exemplar(e: Any) -> Pairs:
    value: list[tuple[str, Any]] = [("time_unix_nano", e.time_unix_nano)]
    if e.WhichOneof("value") == "as_double":
        value.append(("as_double", double_of(e.as_double)))
    if e.WhichOneof("value") == "as_int":
        value.append(("as_int", e.as_int))
    ids = [("trace_id", e.trace_id.hex()), ("span_id", e.span_id.hex())]
    return pairs([*value, *ids, ("filtered_attributes", attributes_of(e.filtered_attributes))])


def _point(kind: str, metric: Any, p: Any, received_at: int) -> dict[str, Any]:
    body, names = getattr(metric, kind), {f.name for f in p.DESCRIPTOR.fields}
    row: dict[str, Any] = {
        "timestamp": _first(time_of(p.time_unix_nano), received_at),
        "start_timestamp": time_of(p.start_time_unix_nano),
        "metric_name": metric.name or None,
        "metric_type": kind,
        "metric_unit": metric.unit or None,
        "metric_description": metric.description or None,
        "metric_metadata": attributes_of(metric.metadata) if metric.metadata else None,
        "attributes": attributes_of(p.attributes),
        "flags": p.flags,
    }
    for name in ("aggregation_temporality", "is_monotonic"):
        row[name] = getattr(body, name, None)
    for name in names & {"count", "zero_count"}:
        row[name] = _signed(getattr(p, name))
    for name in names & {"sum", "min", "max", "scale", "zero_threshold"}:
        optional = p.DESCRIPTOR.fields_by_name[name].has_presence
        row[name] = getattr(p, name) if not optional or p.HasField(name) else None
    if "as_double" in names:
        which = p.WhichOneof("value")
        row["value_double"] = p.as_double if which == "as_double" else None
        row["value_long"] = p.as_int if which == "as_int" else None
    if "exemplars" in names:
        row["exemplars"] = tuple(map(_exemplar, p.exemplars)) or None
    if "bucket_counts" in names:
        row["bucket_counts"] = [_signed(n) for n in p.bucket_counts]
        row["explicit_bounds"] = list(p.explicit_bounds)
    for side in names & {"positive", "negative"}:
        if p.HasField(side):
            row[f"{side}_offset"] = getattr(p, side).offset
            row[f"{side}_bucket_counts"] = [_signed(n) for n in getattr(p, side).bucket_counts]
    if "quantile_values" in names:
        row["quantiles"] = [{"quantile": q.quantile, "value": q.value} for q in p.quantile_values]
    return row
