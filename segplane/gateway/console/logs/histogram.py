"""The histogram of a search by severity, and its facets: one query, and its rows as values.

KQL chooses the records and computes the fields; the aggregation behind it has grouping sets, which
KQL lacks, so that one pass over the columns counts everything.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.gateway.console.kql_text import text_literal
from segplane.gateway.console.logs.asked import LogsAsk
from segplane.gateway.console.logs.fields import LogField
from segplane.gateway.console.logs.records import source
from segplane.gateway.console.logs.search import LogSearch
from segplane.gateway.console.time_range import TimeRange
from segplane.gateway.queries.processes.wire import MATCHED

BUCKETS_MAX = 60
FACET_VALUES = 10
SEARCHED_VALUES = 50
# The last one holds the records without a severity.
SEVERITIES = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "")
_DEFAULT_FACET = LogField("service_name")
_MILLIS_NANOS = 10**6
_SECOND, _DAY = 1_000, 86_400_000
# Milliseconds that people count in.
STEPS_MS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(_SECOND * n for n in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800)),
    *(_SECOND * 3_600 * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 7, 14, 30, 91, 365, 3_650)),
)
# Longer values are cut off, and are no filters.
VALUE_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Bucket:
    """A part of the time, in milliseconds since 1970, and its records by SEVERITIES."""

    start_ms: int
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Facet:
    """A field and its most frequent values; None stands for records without one."""

    field: LogField
    values: Sequence[tuple[str | None, int]]
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of the records of a search: by time and severity, and by the values of fields."""

    start_ms: int
    end_ms: int
    step_ms: int
    buckets: Sequence[Bucket]
    facets: Sequence[Facet]

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(sum(bucket.counts) for bucket in self.buckets)


def step_of(range_: TimeRange) -> int:
    """Return the milliseconds of a bucket, so that the range has at most BUCKETS_MAX and one."""
    length = (range_.end.nanos - range_.start.nanos) // _MILLIS_NANOS
    return next((step for step in STEPS_MS if step * BUCKETS_MAX >= length), STEPS_MS[-1])


def facets_of(ask: LogsAsk) -> tuple[LogField, ...]:
    """Return the fields whose values are counted, beside the severity."""
    return tuple(dict.fromkeys((_DEFAULT_FACET, *ask.facets)))


def histogram_query(ask: LogsAsk, search: LogSearch) -> str:
    """Return the query in KQL for the records and the fields that are counted."""
    fields = [
        f"facet{number} = tostring({field.kql()})" for number, field in enumerate(facets_of(ask))
    ]
    columns = ", ".join(["timestamp", "severity", *fields])
    return f"{source(ask, search)}\n| where {ask.range.kql()}\n| project {columns}"


def aggregation(ask: LogsAsk) -> str:
    """Return the SQL that counts the records of the query: rows of a set, its values and a count.

    Set 0 has the buckets, each other one the most frequent values of a facet.
    """
    facets = [f"facet{number}" for number in range(len(facets_of(ask)))]
    step_us = step_of(ask.range) * 1_000
    sets = ", ".join(["(bucket, severity)", *(f"({facet})" for facet in facets)])
    numbers = " ".join(
        f"WHEN GROUPING({facet}) = 0 THEN {number}" for number, facet in enumerate(facets, 1)
    )
    return f"""
        SELECT CASE {numbers} ELSE 0 END AS counted, bucket, severity,
            left(COALESCE({", ".join(facets)}), {VALUE_CHARACTERS_MAX + 1}) AS value,
            COUNT(*) AS records
        FROM (SELECT epoch_us("timestamp") // {step_us} AS bucket, * FROM {MATCHED})
        GROUP BY GROUPING SETS ({sets})
        QUALIFY counted = 0
            OR row_number() OVER (PARTITION BY counted ORDER BY records DESC, value)
                <= {FACET_VALUES + 1}
        ORDER BY counted, records DESC, value
    """  # noqa: S608 - numbers and names of ours


def histogram_of(content: bytes, ask: LogsAsk) -> Histogram:
    """Return the histogram and the facets of a result; buckets without records are there too."""
    step = step_of(ask.range)
    first = ask.range.start.nanos // _MILLIS_NANOS // step
    last = (ask.range.end.nanos - 1) // _MILLIS_NANOS // step
    counts = {bucket: [0] * len(SEVERITIES) for bucket in range(first, last + 1)}
    severities: dict[str | None, int] = {}
    values: list[list[tuple[str | None, int]]] = [[] for _ in facets_of(ask)]
    for row in json.loads(content):
        if row["counted"]:
            values[row["counted"] - 1].append((row["value"] or None, row["records"]))
            continue
        counts[row["bucket"]][SEVERITIES.index(row["severity"] or "")] += row["records"]
        severities[row["severity"]] = severities.get(row["severity"], 0) + row["records"]
    by_severity = sorted(severities.items(), key=lambda item: -item[1])
    facets = [Facet(LogField("severity"), by_severity)]
    facets += [
        Facet(field, _merged(counted)[:FACET_VALUES], len(counted) > FACET_VALUES)
        for field, counted in zip(facets_of(ask), values, strict=True)
    ]
    buckets = [Bucket(number * step, row) for number, row in counts.items()]
    return Histogram(
        ask.range.start.nanos // _MILLIS_NANOS,
        -(-ask.range.end.nanos // _MILLIS_NANOS),
        step,
        buckets,
        facets,
    )


def values_query(ask: LogsAsk, search: LogSearch, field: LogField, text: str) -> str:
    """Return the query for the most frequent values of a field that hold a text."""
    lines = [source(ask, search), f"| where {ask.range.kql()}"]
    lines.append(
        f"| project value = substring(tostring({field.kql()}), 0, {VALUE_CHARACTERS_MAX + 1})"
    )
    if text:
        lines.append(f"| where value contains {text_literal(text)}")
    lines.append("| summarize records = count() by value")
    lines.append(f"| sort by records desc, value asc | take {SEARCHED_VALUES + 1}")
    return "\n".join(lines)


def values_of(content: bytes, field: LogField) -> Facet:
    """Return the values of a result."""
    rows: Sequence[Mapping[str, Any]] = json.loads(content)
    values = [(row["value"] or None, row["records"]) for row in rows]
    return Facet(field, values[:SEARCHED_VALUES], len(values) > SEARCHED_VALUES)


def _merged(values: Sequence[tuple[str | None, int]]) -> list[tuple[str | None, int]]:
    """Return values without repetition: an empty text and its absence are one."""
    counts: dict[str | None, int] = {}
    for value, records in values:
        counts[value] = counts.get(value, 0) + records
    return sorted(counts.items(), key=lambda item: -item[1])
