"""The columns of a dataset, as queries see them.

The format's columns are those of `segments.parquet.schema`, which nothing here imports: a test
compares the two.
"""

from collections.abc import Iterable

from segplane.kql.typed import Columns, Promoted, Table
from segplane.kql.types import KqlType

_COLUMNS: tuple[tuple[KqlType, str], ...] = (
    ("datetime", "timestamp observed_timestamp start_timestamp end_timestamp"),
    ("dynamic", "attributes resource_attributes scope_attributes resource_entity_refs"),
    ("dynamic", "events links exemplars metric_metadata"),
    ("dynamic", "bucket_counts explicit_bounds positive_bucket_counts negative_bucket_counts"),
    ("dynamic", "quantiles"),
    ("int", "timestamp_nanos observed_timestamp_nanos start_timestamp_nanos end_timestamp_nanos"),
    ("int", "severity_number aggregation_temporality scale positive_offset negative_offset"),
    ("int", "kind status_code"),
    ("long", "resource_dropped_attributes_count scope_dropped_attributes_count flags"),
    ("long", "dropped_attributes_count value_long count zero_count duration_ns"),
    ("long", "dropped_events_count dropped_links_count"),
    ("real", "value_double sum min max zero_threshold"),
    ("bool", "is_monotonic"),
    ("string", "signal service_name resource_schema_url scope_name scope_version"),
    ("string", "scope_schema_url trace_id span_id severity_text event_name body body_type"),
    ("string", "metric_name metric_type metric_unit metric_description parent_span_id"),
    ("string", "trace_state name status_message"),
    ("timespan", "duration"),
)
# The order in which a dataset without a projection shows them.
_FIRST = ("timestamp", "timestamp_nanos", "signal", "service_name", "body", "name", "duration")
_TYPES: dict[str, KqlType] = {name: type_ for type_, names in _COLUMNS for name in names.split()}
FORMAT_COLUMNS: Columns = {name: _TYPES[name] for name in dict.fromkeys((*_FIRST, *_TYPES))}
LISTS = frozenset(
    [
        *("bucket_counts", "explicit_bounds", "quantiles"),
        *("positive_bucket_counts", "negative_bucket_counts"),
    ]
)
# `duration` is a timespan; what is stored is the same number of nanoseconds.
STORED = {"duration": "duration_ns"}
TIME_COLUMN = "timestamp"
_BASES = {"record": "attributes", "resource": "resource_attributes", "scope": "scope_attributes"}


def promoted(name: str, type_: KqlType, scope: str, attribute: str) -> Promoted:
    """Return a promoted column; scope is record, resource or scope."""
    return Promoted(name, type_, _BASES[scope], attribute)


def any_dataset() -> Table:
    """Return the columns that every dataset has with the same type; others it may have or not."""
    certain = {n: t for n, t in FORMAT_COLUMNS.items() if n not in STORED and "_nanos" not in n}
    return Table("", certain, {}, LISTS)


def dataset_table(
    name: str, columns: Iterable[Promoted] = (), complete: Iterable[str] = ()
) -> Table:
    """Return a dataset with its promoted columns.

    `complete` names those that every file to be read has: only they may stand for an attribute.
    """
    promoted_columns = tuple(columns)
    own: dict[str, KqlType] = {}
    for column in promoted_columns:
        own[column.name] = column.type
        if column.type == "datetime":
            own[f"{column.name}_nanos"] = "int"
    own |= {column.name: column.type for column in promoted_columns}
    # What is no column of the format gives way: SQL takes names that differ in case for one.
    taken = {name.lower() for name in own}
    types = {name: type_ for name, type_ in FORMAT_COLUMNS.items() if name not in taken} | own
    usable = set(complete)
    return Table(
        name,
        types,
        {shown: stored for shown, stored in STORED.items() if shown not in taken},
        LISTS,
        tuple(c for c in promoted_columns if c.name in usable),
    )
