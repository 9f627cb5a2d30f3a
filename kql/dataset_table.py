"""The columns of a dataset, as queries see them.

The format's columns are those of `segments.parquet.schema`, which nothing here imports: a test
compares the two.
"""

from collections.abc import Iterable, Mapping

from kql.typed import (
    Among,
    Apply,
    Choice,
    Columns,
    ColumnValue,
    Constant,
    Expression,
    Promoted,
    Table,
)
from kql.types import KqlType

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
# `duration` is a timespan; the stored value is the same number of nanoseconds.
STORED = {"duration": "duration_ns"}
TIME_COLUMN = "timestamp"
_SEVERITIES = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
# Columns of words: the column of numbers that each is computed from, and the numbers of a word.
WORDS: Mapping[str, tuple[str, Mapping[str, tuple[int, ...]]]] = {
    "severity": (
        "severity_number",
        {word: tuple(range(1 + 4 * n, 5 + 4 * n)) for n, word in enumerate(_SEVERITIES)},
    ),
    "temporality": ("aggregation_temporality", {"DELTA": (1,), "CUMULATIVE": (2,)}),
    "span_kind": (
        "kind",
        {"INTERNAL": (1,), "SERVER": (2,), "CLIENT": (3,), "PRODUCER": (4,), "CONSUMER": (5,)},
    ),
    "span_status": ("status_code", {"UNSET": (0,), "OK": (1,), "ERROR": (2,)}),
}
# The words of all columns that have a fixed set of them, in foreign files too.
STORED_WORDS: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(words) for name, (_, words) in WORDS.items()},
    "signal": ("logs", "metrics", "traces"),
}
# The number of a point, whole or not: of the columns of its two forms and of its flags.
VALUE = "value"
_VALUE_SOURCES: Columns = {"value_double": "real", "value_long": "long", "flags": "long"}
_OF_ALL = """timestamp timestamp_nanos signal service_name resource_attributes
    resource_dropped_attributes_count resource_schema_url resource_entity_refs scope_name
    scope_version scope_attributes scope_dropped_attributes_count scope_schema_url attributes flags
    dropped_attributes_count"""
_OF_SIGNALS = {
    "logs": """observed_timestamp observed_timestamp_nanos trace_id span_id severity_number severity
    severity_text event_name body body_type""",
    "metrics": """start_timestamp start_timestamp_nanos metric_name metric_type metric_unit
    metric_description metric_metadata value value_double value_long
    aggregation_temporality temporality is_monotonic count sum min max bucket_counts
    explicit_bounds zero_count scale zero_threshold
    positive_offset positive_bucket_counts negative_offset negative_bucket_counts quantiles
    exemplars""",
    "traces": """end_timestamp end_timestamp_nanos duration duration_ns trace_id span_id
    parent_span_id trace_state name kind span_kind status_code span_status status_message events
    links dropped_events_count dropped_links_count""",
}
# The columns of a signal: web.logs is the table of a dataset's logs.
SIGNAL_COLUMNS: Mapping[str, frozenset[str]] = {
    signal: frozenset(f"{_OF_ALL} {names}".split()) for signal, names in _OF_SIGNALS.items()
}
_BASES = {
    "record": "attributes",
    "resource": "resource_attributes",
    "scope": "scope_attributes",
    # No attribute has the value of such a column, which therefore never stands for one.
    "receipt": "",
    "request": "",
}


def promoted(name: str, type_: KqlType, scope: str, attribute: str) -> Promoted:
    """Return a promoted column; scope is record, resource, scope, receipt or request."""
    return Promoted(name, type_, _BASES[scope], attribute)


def word_of(name: str) -> Expression:
    """Return a column of words, computed from its numbers."""
    source, words = WORDS[name]
    column = ColumnValue(source, "int")
    branches = tuple(
        (Among(column, tuple(Constant(n, "int") for n in numbers)), Constant(word, "string"))
        for word, numbers in words.items()
    )
    return Choice(branches, Constant(None, "string"), "string")


def point_value() -> Expression:
    """Return the value of a point as a real; null of one that has no recorded value."""
    double, whole, flags = (ColumnValue(n, t) for n, t in _VALUE_SOURCES.items())
    either = Apply("coalesce", (double, Apply("to_real", (whole,), "real")), "real")
    return Apply("recorded", (either, flags), "real")


# Columns that each dataset has without storing them: its name and its id.
CONSTANTS = ("dataset", "dataset_id")


def constants_of(name: str, dataset_id: str, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return the values of a dataset's own columns, without names that its columns have taken."""
    lower = {other.lower() for other in taken}
    values = dict(zip(CONSTANTS, (name, dataset_id), strict=True))
    return {column: value for column, value in values.items() if column not in lower}


# Columns that no file has to have: those that each is computed from, and its expression.
COMPUTED: Mapping[str, tuple[Columns, Expression]] = {
    **{word: ({source: "int"}, word_of(word)) for word, (source, _) in WORDS.items()},
    VALUE: (_VALUE_SOURCES, point_value()),
}


def any_dataset() -> Table:
    """Return the columns that every dataset has with the same type; others it may have or not."""
    certain = {n: t for n, t in FORMAT_COLUMNS.items() if n not in STORED and "_nanos" not in n}
    return Table("", certain, {}, LISTS)


def dataset_table(
    name: str,
    columns: Iterable[Promoted] = (),
    complete: Iterable[str] = (),
    *,
    has_words: bool = False,
    automatic: Iterable[Promoted] = (),
    dataset_id: str = "",
) -> Table:
    """Return a dataset with its promoted columns, and with computed columns if these are shown.

    `complete` names those that every file to be read has: only they may stand for an attribute.
    Links do not show computed columns, since their output must not change; they may name them.
    """
    promoted_columns = tuple(columns)
    typed: dict[str, KqlType] = {}
    for column in promoted_columns:
        typed[column.name] = column.type
        if column.type == "datetime":
            typed[f"{column.name}_nanos"] = "int"
    typed |= {column.name: column.type for column in promoted_columns}
    # On a case-insensitive clash, the format's columns win: SQL takes such names for one.
    taken = {name.lower() for name in typed}
    types = {name: type_ for name, type_ in FORMAT_COLUMNS.items() if name not in taken} | typed
    computed = {
        name: expression
        for name, (sources, expression) in COMPUTED.items()
        if has_words and not {name, *sources} & taken
    }
    types |= {name: expression.type for name, expression in computed.items()}
    usable = set(complete)
    return Table(
        name,
        types,
        {shown: stored for shown, stored in STORED.items() if shown not in taken},
        LISTS,
        tuple(c for c in promoted_columns if c.name in usable),
        computed,
        tuple(automatic),
        constants_of(name, dataset_id, types),
    )
