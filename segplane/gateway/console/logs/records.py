"""Records of a search: the queries that read a page of them, newest first, and their rows.

A first query reads times alone and finds where the page ends, a second one reads the records of
that time. So no column but those of the conditions is read for records that are not shown, and the
order of records with equal times costs nothing beyond them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.gateway.console.kql_text import quoted_name, text_literal
from segplane.gateway.console.logs.asked import LogsAsk, RecordKey
from segplane.gateway.console.logs.search import LogSearch
from segplane.gateway.management.times import nanos_of, text_of

PAGE_ROWS = 200
# Of a body or of attributes, on a page and in one record.
SHOWN_CHARACTERS_MAX = 4_096
BODY_CHARACTERS_MAX = 262_144
# Of names and ids in a list.
_NAME_CHARACTERS_MAX = 200
_MICROS = 1_000
# With its time, it tells a record from others; records that are alike in all of this look alike.
_DIGESTED = (
    *("trace_id", "span_id", "service_name", "tostring(severity_number)", "severity_text"),
    *("event_name", "body", "tostring(attributes)", "tostring(resource_attributes)"),
    *("scope_name", "tostring(scope_attributes)", "tostring(flags)"),
    *("tostring(observed_timestamp)", "tostring(observed_timestamp_nanos)"),
)
DIGEST = f"hash_sha256(strcat_delim(' ', {', '.join(_DIGESTED)}))"


@dataclass(frozen=True, slots=True)
class LogRow:
    """A line of the list. `cells` are the values of the chosen columns."""

    key: RecordKey
    severity: str
    service_name: str
    trace_id: str
    text: str
    # The text is that of attributes, since there is no body.
    is_of_attributes: bool
    is_cut_off: bool
    attributes: Mapping[str, Any]
    cells: Sequence[str | None]


def source(ask: LogsAsk, search: LogSearch) -> str:
    """Return the beginning of a query: the records of a search, without its time range."""
    lines = [logs_of(ask.dataset)]
    # On a line of its own, so that an excerpt of a refusal shows the person's words.
    if search.condition:
        lines.append(f"| where\n{search.condition}")
    lines += [f"| where {value.kql()}" for value in ask.only]
    lines += [f"| where not({value.kql()})" for value in ask.excluded]
    return "\n".join(lines)


def logs_of(dataset: str) -> str:
    """Return the beginning of every query: the log records of a dataset, named with its group."""
    # The table NAME.logs takes meta two calls more, which look for a dataset of that whole name.
    return f"{quoted_name(dataset)}\n| where signal == 'logs'"


def boundary_query(ask: LogsAsk, search: LogSearch) -> str:
    """Return the query for the time at which a page ends at the earliest, null without records."""
    lines = [source(ask, search), f"| where {ask.range.kql()}"]
    if ask.after is not None:
        lines.append(f"| where timestamp < {kql_time(ask.after.key.nanos)}")
    lines.append(f"| sort by timestamp desc | take {PAGE_ROWS + 1}")
    lines.append("| summarize boundary = min(timestamp)")
    return "\n".join(lines)


def page_query(ask: LogsAsk, search: LogSearch, boundary: str | None) -> str:
    """Return the query for the records of a page from a time on, and one more if there is one."""
    lines = [source(ask, search), f"| where {ask.range.kql()}"]
    after = ask.after
    if boundary is None and after is not None:
        # Nothing is older; records of the same microsecond may follow.
        boundary = text_of(after.key.nanos)
    lines.append(f"| where timestamp >= {kql_time(nanos_of(boundary or text_of(0)))}")
    lines.append(f"| extend segplane_digest = {DIGEST}")
    if after is not None:
        time, remainder = kql_time(after.key.nanos), after.key.nanos % _MICROS
        lines.append(f"| where timestamp <= {time}")
        lines.append(
            f"| where timestamp < {time} or timestamp_nanos < {remainder}"
            f" or (timestamp_nanos == {remainder}"
            f" and segplane_digest >= {text_literal(after.key.digest)})"
        )
    lines.append("| sort by timestamp desc, timestamp_nanos desc, segplane_digest asc")
    # Records with the key of the last one come first: those that the pages before have shown.
    shown_rows = 0 if after is None else after.shown
    lines.append(f"| take {shown_rows + PAGE_ROWS + 1} | where row_number() > {shown_rows}")
    shown_max = SHOWN_CHARACTERS_MAX + 1
    cells = [
        f"cell{number} = substring(tostring({column.kql()}), 0, {shown_max})"
        for number, column in enumerate(ask.columns)
    ]
    shown = [
        *("timestamp", "timestamp_nanos", "segplane_digest", "severity"),
        cut("severity_text", "service_name", "trace_id"),
        f"body = substring(body, 0, {shown_max})",
        f"attributes_text = substring(tostring(attributes), 0, {shown_max})",
        *cells,
    ]
    lines.append(f"| project {', '.join(shown)}")
    return "\n".join(lines)


def record_query(dataset: str, key: RecordKey) -> str:
    """Return the query for all columns of one record."""
    time, remainder = kql_time(key.nanos), key.nanos % _MICROS
    return "\n".join(
        [
            logs_of(dataset),
            f"| where timestamp == {time} and timestamp_nanos == {remainder}",
            f"| where {DIGEST} == {text_literal(key.digest)}",
            "| take 1",
            f"| extend body = substring(body, 0, {BODY_CHARACTERS_MAX + 1})",
        ]
    )


def rows_of(content: bytes, columns: int) -> list[LogRow]:
    """Return the rows of a page's result."""
    return [_row(record, columns) for record in json.loads(content)]


def key_of(record: Mapping[str, Any], digest: str) -> RecordKey:
    """Return the key of a record by its time, with all of its digits."""
    time = str(record["timestamp"]).removesuffix("Z")
    return RecordKey(f"{time}{record.get('timestamp_nanos') or 0:03d}Z", digest)


def cut(*columns: str, characters: int = _NAME_CHARACTERS_MAX) -> str:
    """Return columns of texts for a projection, each cut if it is long."""
    return ", ".join(f"{name} = substring({name}, 0, {characters})" for name in columns)


def kql_time(nanos: int) -> str:
    """Return the microsecond of a time as a literal of KQL."""
    return f"datetime({text_of(nanos - nanos % _MICROS)})"


def _row(record: Mapping[str, Any], columns: int) -> LogRow:
    body, attributes_text = record["body"] or "", record["attributes_text"] or ""
    text = body or attributes_text
    return LogRow(
        key_of(record, record["segplane_digest"]),
        record["severity"] or record["severity_text"] or "",
        record["service_name"] or "",
        record["trace_id"] or "",
        text[:SHOWN_CHARACTERS_MAX],
        not body,
        len(text) > SHOWN_CHARACTERS_MAX,
        _bag(attributes_text),
        [record[f"cell{number}"] for number in range(columns)],
    )


def _bag(text: str) -> Mapping[str, Any]:
    """Return attributes by key; none of a text that is cut off."""
    try:
        bag = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return bag if isinstance(bag, dict) else {}
