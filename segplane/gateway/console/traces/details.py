"""Details of one span, from the rows of a query."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segplane.gateway.console.logs.unfolded import NODES_MAX, TreeNode, Unfolding, parse_json
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
    attributes: Sequence[TreeNode]


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A link of a span to another one."""

    trace_id: str
    span_id: str
    attributes: Sequence[TreeNode]


@dataclass(frozen=True, slots=True)
class SpanDetails:
    """Everything about one span, within the limits of a page."""

    name: str
    facts: Sequence[TreeNode]
    bags: Mapping[str, Sequence[TreeNode]]
    events: Sequence[SpanEvent]
    links: Sequence[SpanLink]
    # Sentences about what is not shown.
    notes: Sequence[str]
    time: TimeRange


def read_details(content: bytes) -> list[SpanDetails]:
    """Return the spans of a result of `span_query`."""
    unfolding = Unfolding()
    return [_details(row, unfolding) for row in json.loads(content)]


def _details(row: dict[str, Any], unfolding: Unfolding) -> SpanDetails:
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
        unfolding.members({name: value for name, value in facts.items() if value}, None, 0),
        {name: unfolding.members(bag, None, 0) for name in _BAGS if (bag := _bag(row[name]))},
        [_event(event, start, unfolding) for event in events[:EVENTS_MAX]],
        [_link(link, unfolding) for link in links[:EVENTS_MAX]],
        notes + [f"the first {NODES_MAX:,} values"] * unfolding.is_cut_off,
        absolute_range(start, max(start, end or start)),
    )


def _nanos(row: Mapping[str, Any], name: str) -> int:
    return nanos_of(row[name]) + (row[f"{name}_nanos"] or 0)


def _bag(text: str | None) -> Mapping[str, object]:
    """Return attributes, or their text if it is cut off or no JSON."""
    try:
        return _object(parse_json(text or "{}"))
    except (ValueError, RecursionError):
        return {"cut off": text}


def _list(text: str | None) -> tuple[list[dict[str, Any]], bool]:
    """Return the objects of a list, and whether it is cut off."""
    try:
        items = parse_json(text or "[]")
    except (ValueError, RecursionError):
        return [], True
    return [item for item in items if isinstance(item, dict)], False


def _event(event: Mapping[str, Any], start: int, unfolding: Unfolding) -> SpanEvent:
    try:
        after = duration_text(int(event.get("time_unix_nano", start)) - start)
    except (TypeError, ValueError, OverflowError):
        after = ""
    attributes = unfolding.members(_object(event.get("attributes")), None, 0)
    return SpanEvent(str(event.get("name", "")), after, attributes)


def _link(link: Mapping[str, Any], unfolding: Unfolding) -> SpanLink:
    attributes = unfolding.members(_object(link.get("attributes")), None, 0)
    return SpanLink(str(link.get("trace_id", "")), str(link.get("span_id", "")), attributes)


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
