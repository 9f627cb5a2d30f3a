"""Functions for queries in DuckDB: attributes, words of numbers, rates, quantiles of histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kql.sql import metric_patterns
from segments.parquet.columns.readable import READABLE_COLUMNS, ReadableColumn

if TYPE_CHECKING:
    import duckdb

# A JSON pointer takes any key; a JSON path would read the dots of `user.id` as levels.
_ATTRIBUTE = """
CREATE OR REPLACE TEMPORARY MACRO attribute(attributes, key) AS
    json_extract_string(attributes, '/' || replace(replace(key, '~', '~0'), '/', '~1'))
"""
# Merges histograms with the same bounds: a bucket's count is the sum of theirs.
_MERGE_BUCKETS = """
CREATE OR REPLACE TEMPORARY MACRO merge_buckets(bucket_counts) AS
    list_reduce(
        list(bucket_counts) FILTER (bucket_counts IS NOT NULL),
        lambda a, b: list_transform(list_zip(a, b), lambda pair: pair[1] + pair[2])
    )
"""
# The texts of quantiles are those of KQL, over the same arguments.
_HISTOGRAM_QUANTILE = (
    "CREATE OR REPLACE TEMPORARY MACRO histogram_quantile(quantile, bucket_counts, bounds) AS "
    + metric_patterns.quantile("quantile::DOUBLE", "bucket_counts::DOUBLE[]", "bounds::DOUBLE[]")
)
_EXPONENTIAL_QUANTILE = f"""
CREATE OR REPLACE TEMPORARY MACRO exponential_histogram_quantile(
    quantile, scale, zero_count, zero_threshold,
    positive_offset, positive_bucket_counts, negative_offset, negative_bucket_counts
) AS
    {
    metric_patterns.exponential_quantile(
        *("quantile::DOUBLE", "scale", "zero_count", "zero_threshold"),
        *("positive_offset", "to_json(positive_bucket_counts)"),
        *("negative_offset", "to_json(negative_bucket_counts)"),
    )
}
"""
# The lowest bit of a point's flags says that it has no recorded value.
_RECORDED = "CASE WHEN coalesce(flags, 0) % 2 = 0 THEN {0} END"
_VALUE = "coalesce(value_double, value_long::DOUBLE)"
_METRICS = ("exponential_histogram_quantile", "rate")


def define_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Define our functions for one connection, as temporary macros."""
    for statement in statements():
        connection.execute(statement)


def names() -> list[str]:
    """Return the names of our functions."""
    words = [f"{column.name}_name" for column in READABLE_COLUMNS]
    return ["attribute", "merge_buckets", "histogram_quantile", *_METRICS, *words]


def statements() -> list[str]:
    """Return the statements that define our functions."""
    macros = [_ATTRIBUTE, _MERGE_BUCKETS, _HISTOGRAM_QUANTILE, _EXPONENTIAL_QUANTILE]
    return [*macros, rate(), *map(_words, READABLE_COLUMNS)]


def rate(*, has_flags: bool = False) -> str:
    """Return the statement that defines the rate of a counter, with and without points' flags.

    `has_flags` says that every table of a call has them, so that they may be omitted.
    """
    value = "value::DOUBLE"
    recorded = _RECORDED.format(value)
    plain, by_flags = (
        metric_patterns.rate(number, "start_time", '"time"')
        for number in (recorded if has_flags else value, recorded)
    )
    return (
        f'CREATE OR REPLACE TEMPORARY MACRO rate(value, start_time, "time") AS {plain},'
        f' (value, start_time, "time", flags) AS {by_flags}'
    )


def computed_sql(name: str) -> str:
    """Return the SQL of a computed column over the columns of a dataset."""
    if name == "value":
        return _RECORDED.format(_VALUE)
    return word_sql(name)


def word_sql(name: str) -> str:
    """Return the SQL of a column of words over its column of numbers."""
    column = next(column for column in READABLE_COLUMNS if column.name == name)
    cases = " ".join(f"WHEN {number} THEN '{word}'" for number, word in column.words.items())
    return f"CASE {column.source} {cases} END"


def _words(column: ReadableColumn) -> str:
    macro = f"CREATE OR REPLACE TEMPORARY MACRO {column.name}_name({column.source})"
    return f"{macro} AS {word_sql(column.name)}"
