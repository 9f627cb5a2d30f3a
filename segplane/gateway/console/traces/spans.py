"""Spans of one trace, from the rows of a query."""

import json
import re
from dataclasses import dataclass
from typing import TypedDict

from segplane.gateway.management.times import nanos_of

_DIGITS = re.compile("[0-9]{1,19}")


class SpanRow(TypedDict):
    """One row of the query for the spans of a trace."""

    timestamp: str
    timestamp_nanos: int | None
    duration_ns: int | None
    span_id: str | None
    parent_span_id: str | None
    service_name: str | None
    name: str | None
    span_kind: str | None
    span_status: str | None
    status_message: str | None
    event_count: int | None
    link_count: int | None
    event_times: str | None


@dataclass(frozen=True, slots=True)
class Span:
    """A span as its sender reported it; `duration_nanos` is None if it has no end."""

    span_id: str
    parent_span_id: str
    service: str
    name: str
    kind: str
    status: str
    status_message: str
    start_nanos: int
    duration_nanos: int | None
    event_count: int = 0
    link_count: int = 0
    # Times of its first events.
    event_nanos: tuple[int, ...] = ()

    @property
    def end_nanos(self) -> int:
        """Return its end, which is never before its start."""
        return self.start_nanos + max(0, self.duration_nanos or 0)

    @property
    def is_error(self) -> bool:
        """Return whether its status is an error."""
        return self.status == "ERROR"


def read_spans(content: bytes) -> list[Span]:
    """Read the spans of a query's result in JSON."""
    rows: list[SpanRow] = json.loads(content)
    return [
        Span(
            row["span_id"] or "",
            row["parent_span_id"] or "",
            row["service_name"] or "",
            row["name"] or "",
            row["span_kind"] or "",
            row["span_status"] or "",
            row["status_message"] or "",
            nanos_of(row["timestamp"]) + (row["timestamp_nanos"] or 0),
            row["duration_ns"],
            row["event_count"] or 0,
            row["link_count"] or 0,
            tuple(map(int, filter(_DIGITS.fullmatch, (row["event_times"] or "").split(" ")))),
        )
        for row in rows
    ]
