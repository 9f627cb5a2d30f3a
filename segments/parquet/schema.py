"""The columns of a merged segment, per signal: names, types, order, and how each is treated.

This module is the one place that knows a column's name and type. A segment holds up to three
sections, one per signal in the order of SIGNALS; its file has the union of their columns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from segments.parquet.spec import RECEIPT, PromotedColumn, SegmentSpec
from segments.signals import SIGNALS, Signal

TIMESTAMP = pa.timestamp("ns", "UTC")
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """One column and how the file format treats it.

    Statistics serve filters on ids and numbers; on long text they cost more than the data.
    `encoding` is a Parquet encoding, or None for dictionary coding. A column that is not compressed
    is one of codes, or of differences in few bits, of which compression leaves as much as there is;
    format 1 compresses all. The bounds of a column that `is_unbounded` serve no filter.
    `segments.parquet.columns.field_ids` says what `field_id` is for.
    """

    name: str
    type: pa.DataType
    is_sortable: bool = True
    has_statistics: bool = False
    encoding: str | None = None
    is_required: bool = False
    field_id: int | None = None
    has_bloom_filter: bool = False
    is_compressed: bool = True
    is_unbounded: bool = False


def _time(name: str, field_id: int) -> Column:
    return _packed(name, field_id, TIMESTAMP)


def _packed(name: str, field_id: int, type_: pa.DataType) -> Column:
    """Make a column whose neighbours differ by little: kept as differences in few bits."""
    return replace(_number(name, field_id, type_, "DELTA_BINARY_PACKED"), is_compressed=False)


def _id(name: str, field_id: int | None) -> Column:
    return replace(_text(name, field_id), is_sortable=True, has_statistics=True)


def _random_id(name: str, field_id: int | None) -> Column:
    return replace(_id(name, field_id), is_unbounded=True)


def _name(name: str, field_id: int) -> Column:
    return Column(name, DICTIONARY, field_id=field_id)


def _json_dictionary(name: str, field_id: int) -> Column:
    return replace(_name(name, field_id), is_sortable=False)


def _text(name: str, field_id: int | None) -> Column:
    encoding = "DELTA_LENGTH_BYTE_ARRAY"
    return Column(name, pa.string(), is_sortable=False, encoding=encoding, field_id=field_id)


def _number(name: str, field_id: int, type_: pa.DataType, encoding: str | None = None) -> Column:
    return Column(name, type_, has_statistics=True, encoding=encoding, field_id=field_id)


def _code(name: str, field_id: int, type_: pa.DataType) -> Column:
    """Make a column of numbers that are nearly always one or a few."""
    return replace(_number(name, field_id, type_), is_compressed=False, is_unbounded=True)


def _list(name: str, field_id: int, element: pa.DataType) -> Column:
    # "element" is the name that Parquet gives back, so a column read equals the one written.
    type_ = pa.list_(pa.field("element", element))
    return Column(name, type_, is_sortable=False, encoding="PLAIN", field_id=field_id)


_QUANTILE = pa.struct([("quantile", pa.float64()), ("value", pa.float64())])

_COMMON: tuple[Column, ...] = (
    Column(
        "signal", DICTIONARY, field_id=1, has_statistics=True, is_required=True, is_compressed=False
    ),
    replace(_time("timestamp", 2), is_required=True),
    Column("service_name", DICTIONARY, field_id=4, has_statistics=True),
    _json_dictionary("resource_attributes", 5),
    _code("resource_dropped_attributes_count", 6, pa.int64()),
    _name("resource_schema_url", 7),
    _json_dictionary("resource_entity_refs", 8),
    _name("scope_name", 9),
    _name("scope_version", 10),
    _json_dictionary("scope_attributes", 11),
    _code("scope_dropped_attributes_count", 12, pa.int64()),
    _name("scope_schema_url", 13),
    _text("attributes", 14),
    _code("flags", 15, pa.int64()),
    _code("dropped_attributes_count", 16, pa.int64()),
)

_OWN: dict[Signal, tuple[Column, ...]] = {
    "logs": (
        _time("observed_timestamp", 17),
        replace(_id("trace_id", 19), has_bloom_filter=True),
        _random_id("span_id", 20),
        _number("severity_number", 21, pa.int32()),
        _name("severity_text", 22),
        _name("event_name", 23),
        _text("body", 24),
        _name("body_type", 25),
    ),
    "metrics": (
        _time("start_timestamp", 26),
        _name("metric_name", 28),
        _name("metric_type", 29),
        _name("metric_unit", 30),
        _name("metric_description", 31),
        _json_dictionary("metric_metadata", 32),
        _number("value_double", 33, pa.float64()),
        _number("value_long", 34, pa.int64()),
        _code("aggregation_temporality", 35, pa.int32()),
        _number("is_monotonic", 36, pa.bool_(), "PLAIN"),
        _number("count", 37, pa.int64()),
        _number("sum", 38, pa.float64()),
        _number("min", 39, pa.float64()),
        _number("max", 40, pa.float64()),
        _list("bucket_counts", 41, pa.int64()),
        _list("explicit_bounds", 43, pa.float64()),
        _code("zero_count", 45, pa.int64()),
        _code("scale", 46, pa.int32()),
        _code("zero_threshold", 47, pa.float64()),
        _code("positive_offset", 48, pa.int32()),
        _list("positive_bucket_counts", 49, pa.int64()),
        _code("negative_offset", 51, pa.int32()),
        _list("negative_bucket_counts", 52, pa.int64()),
        _list("quantiles", 54, _QUANTILE),
        _text("exemplars", 58),
    ),
    "traces": (
        _time("end_timestamp", 59),
        _packed("duration_ns", 61, pa.int64()),
        replace(_id("trace_id", 19), has_bloom_filter=True),
        _random_id("span_id", 20),
        _random_id("parent_span_id", 62),
        _name("trace_state", 63),
        _name("name", 64),
        _number("kind", 65, pa.int32()),
        _number("status_code", 66, pa.int32()),
        _name("status_message", 67),
        _text("events", 68),
        _text("links", 69),
        _code("dropped_events_count", 70, pa.int64()),
        _code("dropped_links_count", 71, pa.int64()),
    ),
}

_KQL_TYPES: dict[str, tuple[pa.DataType, str | None]] = {  # A guid is lower-case text.
    "bool": (pa.bool_(), "PLAIN"),
    "int": (pa.int32(), None),
    "long": (pa.int64(), None),
    "real": (pa.float64(), None),
    "string": (DICTIONARY, None),
    "datetime": (TIMESTAMP, "DELTA_BINARY_PACKED"),
    "timespan": (pa.int64(), None),  # Nanoseconds.
    "guid": (DICTIONARY, None),
    "dynamic": (pa.string(), "DELTA_LENGTH_BYTE_ARRAY"),
}
_ID_ENDS = ("_id", "_key")  # Such texts of bound columns are looked up by their whole value.


def format_columns() -> tuple[Column, ...]:
    """Return every column of the format; some signals share one."""
    return tuple(c for columns in (_COMMON, *_OWN.values()) for c in columns)


def reserved_names() -> frozenset[str]:
    """Return the name of every column of the format, none of which a promoted column may take."""
    return frozenset(c.name for c in format_columns())


def time_columns() -> tuple[str, ...]:
    """Return the names of the format's times, any signal."""
    return tuple(c.name for c in format_columns() if c.type == TIMESTAMP)


def section_columns(signal: Signal, promoted: Sequence[PromotedColumn] = ()) -> tuple[Column, ...]:
    """Return a signal's columns: the common ones, its own, then the promoted ones."""
    return _COMMON + _OWN[signal] + tuple(_promoted_column(p) for p in promoted)


def wide_columns(
    signals: Iterable[Signal], promoted: Sequence[PromotedColumn] = ()
) -> tuple[Column, ...]:
    """Return the columns of a file that holds these signals: the union, each name once."""
    present = set(signals)
    columns = [c for signal in SIGNALS if signal in present for c in _OWN[signal]]
    columns.extend(_promoted_column(p) for p in promoted)
    return tuple({c.name: c for c in (*_COMMON, *columns)}.values())


def section_schema(signal: Signal, promoted: Sequence[PromotedColumn] = ()) -> pa.Schema:
    """Return the Arrow schema of one signal's section, in column order."""
    return _schema(section_columns(signal, promoted))


def promoted_type(column: PromotedColumn) -> pa.DataType:
    """Return the Arrow type of a promoted column."""
    return _promoted_column(column).type


def dictionary_columns(promoted: Sequence[PromotedColumn] = ()) -> tuple[str, ...]:
    """Return the names of the columns that are dictionaries in memory and on disk, any signal."""
    return tuple(c.name for c in wide_columns(SIGNALS, promoted) if pa.types.is_dictionary(c.type))


def sort_columns(spec: SegmentSpec, signal: Signal) -> tuple[str, ...]:
    """Return the columns that one section is sorted by, ascending, nulls last.

    signal, then the sharding fields that name a sortable column of the section, then
    service_name and timestamp; each column once, at its first place.
    """
    return _sort_order(spec, section_columns(signal, spec.promoted))


def file_sort_columns(spec: SegmentSpec, signals: Iterable[Signal]) -> tuple[str, ...]:
    """Return the order that a whole file is in.

    A column that a section lacks is all null there, so one order is true of every section.
    """
    return _sort_order(spec, wide_columns(signals, spec.promoted))


def _sort_order(spec: SegmentSpec, columns: Sequence[Column]) -> tuple[str, ...]:
    sortable = {c.name for c in columns if c.is_sortable}
    sharding = (name for name in spec.sharding_fields if name in sortable)
    return tuple(dict.fromkeys(("signal", *sharding, "service_name", "timestamp")))


def _promoted_column(column: PromotedColumn) -> Column:
    if (column.scope, column.kql_type) == (RECEIPT, "string"):
        return replace(_random_id(column.name, column.field_id), has_bloom_filter=True)
    type_, encoding = _KQL_TYPES[column.kql_type]
    is_json = column.kql_type == "dynamic"
    # A guid is declared to be an id, and the statistics of random ids exclude nothing.
    is_named_id = column.is_bound and column.name.casefold().endswith(_ID_ENDS)
    return Column(
        column.name,
        type_,
        is_sortable=not is_json,
        has_statistics=not is_json,
        encoding=encoding,
        has_bloom_filter=column.kql_type == "guid" or (column.kql_type == "string" and is_named_id),
        is_compressed=encoding != "DELTA_BINARY_PACKED",
        field_id=column.field_id,
    )


def _schema(columns: Iterable[Column]) -> pa.Schema:
    return pa.schema(pa.field(c.name, c.type, nullable=not c.is_required) for c in columns)
