"""Parsed OTLP metrics as columns: one row per data point, the five kinds one after the other."""

from collections.abc import Sequence
from typing import cast

import pyarrow as pa

from segments.otlp import json_text
from segments.otlp.arrow import (
    NO_TEXT,
    Array,
    coded,
    constant,
    empty_to_null,
    field,
    parents,
    pc,
    signed,
    times,
)
from segments.otlp.columns import Columns, attribute_columns, finished
from segments.otlp.wire import Frame, refuse_two_members

METRIC_TYPES = ("gauge", "sum", "histogram", "exponential_histogram", "summary")

_EXEMPLAR: json_text.Members = {
    "time_unix_nano": json_text.whole,
    "as_double": json_text.doubles,
    "as_int": json_text.whole,
    "trace_id": json_text.ids,
    "span_id": json_text.ids,
    "filtered_attributes": json_text.attributes,
}
# Members of the data point messages that are columns as they are, in every kind that has them.
_AS_IS = ("sum", "min", "max", "scale", "zero_threshold")
_COUNTS = ("count", "zero_count")


def metric_columns(parsed: Frame, received_at: Sequence[int]) -> list[Columns]:
    """Columns of data points, one set for each kind of metric that occurs."""
    metrics = parsed.records
    refuse_two_members([field(metrics, kind) for kind in METRIC_TYPES])
    described = _MetricTexts(metrics)
    sets = (_points(kind, parsed, described, received_at) for kind in METRIC_TYPES)
    return [columns for columns in sets if columns]


class _MetricTexts:
    """Columns of the metric itself, rendered once for all its data points."""

    def __init__(self, metrics: Array) -> None:
        self._texts = {
            "metric_name": empty_to_null(field(metrics, "name")),
            "metric_unit": empty_to_null(field(metrics, "unit")),
            "metric_description": empty_to_null(field(metrics, "description")),
            "metric_metadata": _metadata(field(metrics, "metadata")),
        }

    def columns(self, metric_of: Array) -> Columns:
        """The texts of each data point's metric."""
        return {name: coded(metric_of, texts) for name, texts in self._texts.items()}


def _metadata(lists: Array) -> Array:
    is_empty = pc.equal(pc.list_value_length(lists), 0)
    return pc.if_else(is_empty, NO_TEXT, json_text.attributes(lists))


def _points(
    kind: str, parsed: Frame, described: _MetricTexts, received_at: Sequence[int]
) -> Columns | None:
    body = field(parsed.records, kind)
    lists = field(body, "data_points")
    points, metric_of = lists.flatten(), parents(lists)
    if len(points) == 0:
        return None
    columns: Columns = {
        "timestamp": times(field(points, "time_unix_nano")),
        "start_timestamp": times(field(points, "start_time_unix_nano")),
        "metric_type": constant(kind, len(points)),
        **attribute_columns(points),
        "flags": signed(field(points, "flags")),
        **described.columns(metric_of),
        **_values(points),
        **_buckets(points),
    }
    for name in ("aggregation_temporality", "is_monotonic"):
        if _has(body, name):
            columns[name] = field(body, name).take(metric_of)
    return finished(columns, parsed, parsed.record_scopes.take(metric_of), received_at)


def _values(points: Array) -> Columns:
    columns: Columns = {name: field(points, name) for name in _AS_IS if _has(points, name)}
    columns.update({name: signed(field(points, name)) for name in _COUNTS if _has(points, name)})
    if _has(points, "as_double"):
        refuse_two_members([field(points, "as_double"), field(points, "as_int")])
        columns["value_double"] = field(points, "as_double")
        columns["value_long"] = field(points, "as_int")
    if _has(points, "exemplars"):
        exemplars = field(points, "exemplars")
        structs = exemplars.flatten()
        refuse_two_members([field(structs, "as_double"), field(structs, "as_int")])
        columns["exemplars"] = json_text.objects(exemplars, _EXEMPLAR)
    if _has(points, "quantile_values"):
        columns["quantiles"] = field(points, "quantile_values")
    return columns


def _buckets(points: Array) -> Columns:
    columns: Columns = {}
    if _has(points, "bucket_counts"):
        columns["bucket_counts"] = _signed_lists(field(points, "bucket_counts"))
        columns["explicit_bounds"] = field(points, "explicit_bounds")
    for side in ("positive", "negative"):
        if _has(points, side):
            buckets = field(points, side)
            columns[f"{side}_offset"] = field(buckets, "offset")
            columns[f"{side}_bucket_counts"] = _signed_lists(field(buckets, "bucket_counts"))
    return columns


def _signed_lists(lists: Array) -> Array:
    return pc.cast(lists, pa.list_(pa.int64()), safe=False)


def _has(structs: Array, name: str) -> bool:
    return name in {member.name for member in cast(pa.StructType, structs.type)}
