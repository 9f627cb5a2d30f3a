"""Queries for traces in KQL, and their results as values.

A condition on `trace_id` is looked up in the Bloom filters of segments, so the spans of one trace
are found without a time range.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from segplane.gateway.console.kql_text import quoted_name, text_literal
from segplane.gateway.console.logs.around import SHOWN_COLUMNS
from segplane.gateway.console.logs.records import DIGEST, SHOWN_CHARACTERS_MAX, cut, logs_of
from segplane.gateway.console.time_range import TimeRange, absolute_range
from segplane.gateway.console.traces.search import TraceAsk, TraceCursor
from segplane.gateway.console.traces.timing import duration_text
from segplane.gateway.management.times import nanos_of

TRACES_MAX = 100
SPANS_MAX = 10_000
LOGS_MAX = 50
DUPLICATES_MAX = 3
# Spans of a listed trace are read so long before and after the range of the search.
_MARGIN_NANOS = 3_600 * 10**9
_EVENTS_CHARACTERS_MAX = 262_144
# Of a span, in a waterfall.
MARKED_EVENTS_MAX = 3
_EVENT_TIMES = ", ".join(
    f"tostring(events[{number}].time_unix_nano)" for number in range(MARKED_EVENTS_MAX)
)
_BAG_CHARACTERS_MAX = 65_536


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """One line of the list of traces."""

    trace_id: str
    service: str
    operation: str
    start: str
    duration: str
    spans: int
    errors: int


def matches_query(ask: TraceAsk) -> str:
    """Return the query for the newest traces with a matching span, and one more if there is one."""
    lines = [_traces_of(ask.dataset), f"| where {ask.range.kql()}"]
    lines += [f"| where {condition}" for condition in ask.conditions()]
    lines.append("| where isnotempty(trace_id)")
    lines.append("| summarize newest = max(timestamp) by trace_id")
    if ask.after is not None:
        time = f"datetime({ask.after.time})"
        id_ = text_literal(ask.after.trace_id)
        lines.append(f"| where newest < {time} or (newest == {time} and trace_id > {id_})")
    lines.append(f"| sort by newest desc, trace_id asc | take {TRACES_MAX + 1}")
    return "\n".join(lines)


def read_matches(content: bytes) -> list[TraceCursor]:
    """Return the traces of a result of `matches_query`."""
    return [TraceCursor(row["newest"], row["trace_id"]) for row in json.loads(content)]


def near(ask: TraceAsk) -> TimeRange:
    """Return the time in which spans of listed traces are read."""
    start, end = ask.range.start.nanos, ask.range.end.nanos
    return absolute_range(start - _MARGIN_NANOS, end + _MARGIN_NANOS)


def summaries_query(ask: TraceAsk, trace_ids: Sequence[str]) -> str:
    """Return the query for the facts of traces, of their spans near the range."""
    ids = ", ".join(map(text_literal, trace_ids))
    return "\n".join(
        [
            _traces_of(ask.dataset),
            f"| where {near(ask).kql()} and trace_id in ({ids})",
            # A span without a parent comes before all others.
            "| extend rank = iff(isempty(parent_span_id), timestamp, timestamp + 36500d)",
            "| summarize arg_min(rank, service_name, name), start = min(timestamp),"
            " end = max(coalesce(end_timestamp, timestamp)), spans = count(),"
            " errors = countif(status_code == 2) by trace_id",
        ]
    )


def read_summaries(content: bytes, trace_ids: Sequence[str]) -> list[TraceSummary]:
    """Return the lines of a list, in the order of the ids."""
    rows = {row["trace_id"]: row for row in json.loads(content)}
    return [
        TraceSummary(
            trace_id,
            row["service_name"] or "",
            row["name"] or "",
            row["start"],
            duration_text(max(0, nanos_of(row["end"]) - nanos_of(row["start"]))),
            row["spans"],
            row["errors"],
        )
        for trace_id in trace_ids
        if (row := rows.get(trace_id))
    ]


def spans_query(dataset: str, trace_id: str, within: TimeRange | None) -> str:
    """Return the query for the spans of a waterfall, and one more than it shows if there are."""
    return "\n".join(
        [
            _traces_of(dataset),
            f"| where trace_id == {text_literal(trace_id)}",
            *([f"| where {within.kql()}"] if within else []),
            f"| sort by timestamp asc, timestamp_nanos asc, span_id asc | take {SPANS_MAX + 1}",
            "| project timestamp, timestamp_nanos, duration_ns, span_kind, span_status,"
            f" {cut('span_id', 'parent_span_id', 'service_name', 'name', 'status_message')},"
            " event_count = array_length(events), link_count = array_length(links),"
            f" event_times = strcat_delim(' ', {_EVENT_TIMES})",
        ]
    )


def span_query(dataset: str, trace_id: str, span_id: str) -> str:
    """Return the query for everything about the spans with one id."""
    bags = [
        f"{name} = substring(tostring({name}), 0, {_BAG_CHARACTERS_MAX})"
        for name in ("attributes", "resource_attributes", "scope_attributes")
    ]
    lists = [
        f"{name} = substring(tostring({name}), 0, {_EVENTS_CHARACTERS_MAX})"
        for name in ("events", "links")
    ]
    ids = ("span_id", "parent_span_id")
    names = ("service_name", "scope_name", "name", "status_message", "trace_state")
    texts = f"{cut(*ids)}, {cut(*names, characters=SHOWN_CHARACTERS_MAX)}"
    return "\n".join(
        [
            _traces_of(dataset),
            f"| where trace_id == {text_literal(trace_id)} and span_id == {text_literal(span_id)}",
            f"| sort by timestamp asc, timestamp_nanos asc | take {DUPLICATES_MAX}",
            "| project timestamp, timestamp_nanos, end_timestamp, end_timestamp_nanos,"
            f" duration_ns, span_kind, span_status, {texts}, dropped_attributes_count,"
            f" dropped_events_count, dropped_links_count, {', '.join(bags + lists)}",
        ]
    )


def logs_query(dataset: str, trace_id: str) -> str:
    """Return the query for the first logs of a trace, and one more than are shown if there is."""
    return "\n".join(
        [
            logs_of(dataset),
            f"| where trace_id == {text_literal(trace_id)}",
            f"| extend segplane_digest = {DIGEST}",
            "| sort by timestamp asc, timestamp_nanos asc, segplane_digest desc",
            f"| take {LOGS_MAX + 1}",
            *SHOWN_COLUMNS,
        ]
    )


def _traces_of(dataset: str) -> str:
    return f"{quoted_name(dataset)}\n| where signal == 'traces'"
