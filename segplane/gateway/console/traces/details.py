"""Details of one span, from the rows of a query."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.gateway.console.time_range import TimeRange, absolute_range
from segplane.gateway.console.traces.timing import duration_text
from segplane.gateway.management.times import nanos_of, text_of

EVENTS_MAX = 100
_BAGS = ("attributes", "resource_attributes", "scope_attributes")


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event of a span, at a time after the span's start."""

    name: str
    after: str
    attributes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A link of a span to another one."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SpanDetails:
    """Everything about one span. A list that is cut off is None: only its text is short enough."""

    name: str
    facts: Mapping[str, str]
    bags: Mapping[str, object]
    events: Sequence[SpanEvent]
    links: Sequence[SpanLink]
    # Sentences about what is not shown.
    notes: Sequence[str]
    time: TimeRange


def read_details(content: bytes) -> list[SpanDetails]:
    """Return the spans of a result of `span_query`."""
    return [_details(row) for row in json.loads(content)]


def _details(row: dict[str, Any]) -> SpanDetails:
    start = _nanos(row, "timestamp")
    end = _nanos(row, "end_timestamp") if row["end_timestamp"] else None
    events, is_cut = _list(row["events"])
    links, are_links_cut = _list(row["links"])
    notes = []
    if is_cut or are_links_cut:
        notes.append("its events or links are too many to be shown")
    if len(events) > EVENTS_MAX:
        notes.append(f"the first {EVENTS_MAX} of {len(events):,} events")
    notes += [
        f"the sender dropped {count:,} {noun}"
        for noun in ("attributes", "events", "links")
        if (count := row[f"dropped_{noun}_count"])
    ]
    facts = {
        "Service": row["service_name"],
        "Kind": row["span_kind"],
        "Status": row["span_status"],
        "Message": row["status_message"],
        "Start": text_of(start),
        "End": text_of(end) if end is not None else "not reported",
        "Duration": "" if row["duration_ns"] is None else duration_text(row["duration_ns"]),
        "Span": row["span_id"],
        "Parent": row["parent_span_id"],
        "Trace state": row["trace_state"],
        "Scope": row["scope_name"],
    }
    return SpanDetails(
        row["name"] or "",
        {name: value for name, value in facts.items() if value},
        {name: bag for name in _BAGS if (bag := _bag(row[name]))},
        [_event(event, start) for event in events[:EVENTS_MAX]],
        [_link(link) for link in links[:EVENTS_MAX]],
        notes,
        absolute_range(start, max(start, end or start)),
    )


def _nanos(row: Mapping[str, Any], name: str) -> int:
    return nanos_of(row[name]) + (row[f"{name}_nanos"] or 0)


def _bag(text: str | None) -> object:
    """Return attributes, or their text if it is cut off or no JSON."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"cut off": text}


def _list(text: str | None) -> tuple[list[dict[str, Any]], bool]:
    """Return the objects of a list, and whether it is cut off."""
    try:
        items = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return [], True
    return [item for item in items if isinstance(item, dict)], False


def _event(event: Mapping[str, Any], start: int) -> SpanEvent:
    try:
        after = duration_text(int(event.get("time_unix_nano", start)) - start)
    except (TypeError, ValueError):
        after = ""
    return SpanEvent(str(event.get("name", "")), after, _object(event.get("attributes")))


def _link(link: Mapping[str, Any]) -> SpanLink:
    attributes = _object(link.get("attributes"))
    return SpanLink(str(link.get("trace_id", "")), str(link.get("span_id", "")), attributes)


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
