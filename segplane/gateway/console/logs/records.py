"""Records of a search: the queries that read a page of them, newest first, and their rows.

They are read by windows of time, from the newest files on, and come as each window is complete.
No column but those of the conditions and the time is read for records that are not shown.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.gateway.console.kql_text import quoted_name, text_literal
from segplane.gateway.console.logs.asked import LogsAsk, RecordKey
from segplane.gateway.console.logs.fields import BAGS
from segplane.gateway.console.logs.search import LogSearch
from segplane.gateway.management.times import text_of
from segplane.gateway.queries.processes.wire import ORDERED, NewestPage
from segplane.gateway.queries.responses import page_too_large
from segplane.gateway.queries.service import PAGE_BYTES_MAX

PAGE_ROWS = 200
# Of a body or of attributes, on a page and in one record.
SHOWN_CHARACTERS_MAX = 4_096
BODY_CHARACTERS_MAX = 262_144
# Of attributes in one record: a longer text is shown as it is.
BAG_CHARACTERS_MAX = 262_144
# Of one record, whose promoted columns have any number and length.
RECORD_BYTES_MAX = 8 * 2**20
_NAMES = (
    *("severity_text", "service_name", "event_name", "scope_name", "scope_version"),
    *("resource_schema_url", "scope_schema_url"),
)
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


def page_query(ask: LogsAsk, search: LogSearch) -> str:
    """Return the query for the records of a page and all older ones, in no order."""
    lines = [source(ask, search), f"| where {ask.range.kql()}", f"| extend {ORDERED[2]} = {DIGEST}"]
    after = ask.after
    if after is not None:
        time, remainder = kql_time(after.key.nanos), after.key.nanos % _MICROS
        lines.append(f"| where timestamp <= {time}")
        lines.append(
            f"| where timestamp < {time} or timestamp_nanos < {remainder}"
            f" or (timestamp_nanos == {remainder}"
            f" and {ORDERED[2]} >= {text_literal(after.key.digest)})"
        )
    return "\n".join([*lines, _listed(ask)])


def live_query(ask: LogsAsk, search: LogSearch) -> str:
    """Return the query for the records of a search of any time, in no order."""
    return "\n".join([source(ask, search), f"| extend {ORDERED[2]} = {DIGEST}", _listed(ask)])


def _listed(ask: LogsAsk) -> str:
    """Return the operator that keeps what a list shows of each record."""
    shown_max = SHOWN_CHARACTERS_MAX + 1
    cells = [
        f"cell{number} = substring(tostring({column.kql()}), 0, {shown_max})"
        for number, column in enumerate(ask.columns)
    ]
    shown = [
        *(*ORDERED, "severity"),
        cut("severity_text", "service_name", "trace_id"),
        f"body = substring(body, 0, {shown_max})",
        f"attributes_text = substring(tostring(attributes), 0, {shown_max})",
        *cells,
    ]
    return f"| project {', '.join(shown)}"


def page_of(ask: LogsAsk) -> NewestPage:
    """Return the part of the query's rows that a page shows, and one more if there is one."""
    if ask.after is None:
        return NewestPage(PAGE_ROWS + 1)
    # Records with the key of the last one come first: those that the pages before have shown.
    return NewestPage(PAGE_ROWS + 1, ask.after.shown, ask.after.key.nanos // _MICROS)


def record_query(dataset: str, key: RecordKey) -> str:
    """Return the query for all columns of one record; bags are texts, and long texts are cut."""
    time, remainder = kql_time(key.nanos), key.nanos % _MICROS
    bags = [f"{name} = substring(tostring({name}), 0, {BAG_CHARACTERS_MAX})" for name in BAGS]
    return "\n".join(
        [
            logs_of(dataset),
            f"| where timestamp == {time} and timestamp_nanos == {remainder}",
            f"| where {DIGEST} == {text_literal(key.digest)}",
            "| take 1",
            f"| extend body = substring(body, 0, {BODY_CHARACTERS_MAX + 1}), {', '.join(bags)},"
            f" {cut(*_NAMES, characters=SHOWN_CHARACTERS_MAX)}",
        ]
    )


def rows_of(content: bytes, columns: int) -> list[LogRow]:
    """Return the rows of a result."""
    return [_row(record, columns) for record in json.loads(content)]


class PageReader:
    """Reads the rows of a page as they come; `has_more` says that there is one more."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._remaining_bytes = PAGE_BYTES_MAX
        self._incomplete = b""
        self.rows: list[LogRow] = []
        self.has_more = False

    def feed(self, piece: bytes) -> Sequence[LogRow]:
        """Return the rows that are complete with a piece of the result. Raises Stopped."""
        self._remaining_bytes -= len(piece)
        if self._remaining_bytes < 0:
            raise page_too_large(PAGE_BYTES_MAX)
        *lines, self._incomplete = (self._incomplete + piece).split(b"\n")
        rows = [_row(json.loads(line), self._columns) for line in lines]
        shown = rows[: PAGE_ROWS - len(self.rows)]
        self.has_more |= len(shown) < len(rows)
        self.rows += shown
        return shown


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
