"""Parsed OTLP messages as the columns of a segment: logs, traces, and columns of all signals."""

from collections.abc import Sequence

import pyarrow as pa

from segments.otlp import json_text
from segments.otlp.arrow import (
    NO_TEXT,
    Array,
    coded,
    empty_to_null,
    field,
    hex_ids,
    make,
    pc,
    scatter,
    signed,
    times,
)
from segments.otlp.wire import Frame
from segments.parquet.schema import TIMESTAMP

Columns = dict[str, Array]
# Index of the payload that each row came from; not a column of the format.
SLICE_OF_ROW = ""
# Attributes of each row, lists of KeyValue whose keys are a dictionary; not one either.
ATTRIBUTE_LISTS = "attribute_lists"

_ENTITY_REF: json_text.Members = {
    "schema_url": json_text.quoted,
    "type": json_text.quoted,
    "id_keys": json_text.texts,
    "description_keys": json_text.texts,
}
_EVENT: json_text.Members = {
    "time_unix_nano": json_text.whole,
    "name": json_text.quoted,
    "attributes": json_text.attributes,
    "dropped_attributes_count": json_text.whole,
}
_LINK: json_text.Members = {
    "trace_id": json_text.ids,
    "span_id": json_text.ids,
    "trace_state": json_text.quoted,
    "attributes": json_text.attributes,
    "dropped_attributes_count": json_text.whole,
    "flags": json_text.whole,
}


def log_columns(parsed: Frame, received_at: Sequence[int]) -> Columns:
    """Columns of log records, in no particular order."""
    records = parsed.records
    observed = times(field(records, "observed_time_unix_nano"))
    bodies, body_types = json_text.bodies(field(records, "body"))
    columns: Columns = {
        "timestamp": pc.coalesce(times(field(records, "time_unix_nano")), observed),
        "observed_timestamp": observed,
        "trace_id": hex_ids(field(records, "trace_id")),
        "span_id": hex_ids(field(records, "span_id")),
        "severity_number": field(records, "severity_number"),
        "severity_text": names(field(records, "severity_text")),
        "event_name": names(field(records, "event_name")),
        "body": bodies,
        "body_type": body_types,
        **record_columns(records),
    }
    return finished(columns, parsed, parsed.record_scopes, received_at)


def span_columns(parsed: Frame, received_at: Sequence[int]) -> Columns:
    """Columns of spans, in no particular order."""
    spans = parsed.records
    start, end = (
        times(field(spans, "start_time_unix_nano")),
        times(field(spans, "end_time_unix_nano")),
    )
    status = field(spans, "status")
    columns: Columns = {
        "timestamp": start,
        "end_timestamp": end,
        "duration_ns": pc.subtract(end.cast(pa.int64()), start.cast(pa.int64())),
        "trace_id": hex_ids(field(spans, "trace_id")),
        "span_id": hex_ids(field(spans, "span_id")),
        "parent_span_id": hex_ids(field(spans, "parent_span_id")),
        "trace_state": names(field(spans, "trace_state")),
        "name": names(field(spans, "name")),
        "kind": field(spans, "kind"),
        "status_code": field(status, "code"),
        "status_message": names(field(status, "message")),
        "events": json_text.objects(field(spans, "events"), _EVENT),
        "links": json_text.objects(field(spans, "links"), _LINK),
        "dropped_events_count": signed(field(spans, "dropped_events_count")),
        "dropped_links_count": signed(field(spans, "dropped_links_count")),
        **record_columns(spans),
    }
    return finished(columns, parsed, parsed.record_scopes, received_at)


def names(texts: Array) -> Array:
    """Strings of few different values, null in place of ""."""
    return empty_to_null(texts).dictionary_encode()


def record_columns(records: Array) -> Columns:
    """Columns that log records and spans share."""
    return {
        **attribute_columns(records),
        "flags": signed(field(records, "flags")),
        "dropped_attributes_count": signed(field(records, "dropped_attributes_count")),
    }


def attribute_columns(records: Array) -> Columns:
    """Attributes of records or data points: as JSON, and as the lists that it is made of."""
    lists = json_text.with_coded_keys(field(records, "attributes"))
    return {ATTRIBUTE_LISTS: lists, "attributes": json_text.attributes(lists)}


def finished(base: Columns, parsed: Frame, scope_of: Array, received_at: Sequence[int]) -> Columns:
    """Add the columns of resource and scope, and a time where a record has none.

    `scope_of` is each row's scope.
    """
    resource_of = parsed.scope_resources.take(scope_of)
    columns = {
        **base,
        **_resource_columns(parsed.resources, resource_of),
        **_scope_columns(parsed.scopes, scope_of),
    }
    columns[SLICE_OF_ROW] = parsed.resource_slices.take(resource_of)
    if columns["timestamp"].null_count:
        received = make.array(received_at, pa.int64()).cast(TIMESTAMP)
        defaults = received.take(columns[SLICE_OF_ROW])
        columns["timestamp"] = pc.coalesce(columns["timestamp"], defaults)
    return columns


def _resource_columns(messages: Array, resource_of: Array) -> Columns:
    """Computed once per resource and taken by index; null if there is no resource message."""
    resources = field(messages, "resource")
    lists = field(resources, "attributes")
    count = signed(field(resources, "dropped_attributes_count"))
    entities = json_text.objects(field(resources, "entity_refs"), _ENTITY_REF)
    return {
        "service_name": coded(resource_of, empty_to_null(_first_text(lists, "service.name"))),
        "resource_attributes": coded(resource_of, _present(resources, json_text.attributes(lists))),
        "resource_dropped_attributes_count": count.take(resource_of),
        "resource_schema_url": coded(resource_of, empty_to_null(field(messages, "schema_url"))),
        "resource_entity_refs": coded(resource_of, entities),
    }


def _scope_columns(messages: Array, scope_of: Array) -> Columns:
    scopes = field(messages, "scope")
    json_texts = _present(scopes, json_text.attributes(field(scopes, "attributes")))
    count = signed(field(scopes, "dropped_attributes_count"))
    return {
        "scope_name": coded(scope_of, empty_to_null(field(scopes, "name"))),
        "scope_version": coded(scope_of, empty_to_null(field(scopes, "version"))),
        "scope_attributes": coded(scope_of, json_texts),
        "scope_dropped_attributes_count": count.take(scope_of),
        "scope_schema_url": coded(scope_of, empty_to_null(field(messages, "schema_url"))),
    }


def _present(messages: Array, texts: Array) -> Array:
    return pc.if_else(pc.is_valid(messages), texts, NO_TEXT)


def _first_text(lists: Array, key: str) -> Array:
    """The first value of `key` in each attribute list, as text; null if there is none."""
    entries = lists.flatten()
    is_key = pc.equal(field(entries, "key"), key)
    texts, _ = json_text.bodies(field(entries, "value").filter(is_key))
    return scatter(pc.list_parent_indices(lists).cast(pa.int32()).filter(is_key), texts, len(lists))
