"""Parquet field ids: the number of every column, list element and struct member of the format.

Engines match columns by id if a table format gives them, so an id never changes its column and is
never given to another. A new column takes the next free number below PROMOTED_FIELD_ID_MIN; the ids
of promoted columns are allocated by meta, per dataset, in pairs: the column's is even, and that of
a datetime's remainder is the odd one after it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

PROMOTED_FIELD_ID_MIN = 1_000

# Ids by name; elements and members by their path. Names that signals share have one id.
FIELD_IDS: dict[str, int] = {
    "signal": 1,
    "timestamp": 2,
    "timestamp_nanos": 3,
    "service_name": 4,
    "resource_attributes": 5,
    "resource_dropped_attributes_count": 6,
    "resource_schema_url": 7,
    "resource_entity_refs": 8,
    "scope_name": 9,
    "scope_version": 10,
    "scope_attributes": 11,
    "scope_dropped_attributes_count": 12,
    "scope_schema_url": 13,
    "attributes": 14,
    "flags": 15,
    "dropped_attributes_count": 16,
    "observed_timestamp": 17,
    "observed_timestamp_nanos": 18,
    "trace_id": 19,
    "span_id": 20,
    "severity_number": 21,
    "severity_text": 22,
    "event_name": 23,
    "body": 24,
    "body_type": 25,
    "start_timestamp": 26,
    "start_timestamp_nanos": 27,
    "metric_name": 28,
    "metric_type": 29,
    "metric_unit": 30,
    "metric_description": 31,
    "metric_metadata": 32,
    "value_double": 33,
    "value_long": 34,
    "aggregation_temporality": 35,
    "is_monotonic": 36,
    "count": 37,
    "sum": 38,
    "min": 39,
    "max": 40,
    "bucket_counts": 41,
    "bucket_counts.element": 42,
    "explicit_bounds": 43,
    "explicit_bounds.element": 44,
    "zero_count": 45,
    "scale": 46,
    "zero_threshold": 47,
    "positive_offset": 48,
    "positive_bucket_counts": 49,
    "positive_bucket_counts.element": 50,
    "negative_offset": 51,
    "negative_bucket_counts": 52,
    "negative_bucket_counts.element": 53,
    "quantiles": 54,
    "quantiles.element": 55,
    "quantiles.element.quantile": 56,
    "quantiles.element.value": 57,
    "exemplars": 58,
    "end_timestamp": 59,
    "end_timestamp_nanos": 60,
    "duration_ns": 61,
    "parent_span_id": 62,
    "trace_state": 63,
    "name": 64,
    "kind": 65,
    "status_code": 66,
    "status_message": 67,
    "events": 68,
    "links": 69,
    "dropped_events_count": 70,
    "dropped_links_count": 71,
    "severity": 72,
    "temporality": 73,
    "span_kind": 74,
    "span_status": 75,
}

_METADATA_KEY = b"PARQUET:field_id"


def with_field_ids(type_: pa.DataType, path: str) -> pa.DataType:
    """Return a nested type with the ids of its elements and members; any other type as it is."""
    if pa.types.is_list(type_):
        return pa.list_(_numbered(type_.value_field, f"{path}.element"))
    if pa.types.is_struct(type_):
        return pa.struct([_numbered(member, f"{path}.{member.name}") for member in type_])
    return type_


def id_metadata(field_id: int | None) -> dict[bytes, bytes] | None:
    """Return the field metadata by which Arrow writes an id; None for a column without one."""
    return None if field_id is None else {_METADATA_KEY: str(field_id).encode()}


def field_id_of(field: pa.Field[Any]) -> int | None:
    """Return the id that a field read from a file has; None without one."""
    text = (field.metadata or {}).get(_METADATA_KEY)
    return None if text is None else int(text)


def _numbered(field: pa.Field[Any], path: str) -> pa.Field[Any]:
    return pa.field(
        field.name,
        with_field_ids(field.type, path),
        nullable=field.nullable,
        metadata=id_metadata(FIELD_IDS[path]),
    )
