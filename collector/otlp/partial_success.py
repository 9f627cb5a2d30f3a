"""Partial success: damaged records of an export are rejected, and the response that says so.

One string that is not UTF-8 makes the official classes refuse an export of thousands of records.
This module splits the export along its frames and rejects each part that does not parse: a record,
or a scope or resource with all its records if its own fields are damaged. If the frames are broken,
the rejected records cannot be counted, and the whole export is refused.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp.faults import Faults
from collector.otlp.wire_faults import fault_of
from collector.refusal import malformed
from segments import protowire
from segments.otlp.official import OFFICIAL_CLASSES
from segments.otlp.validation import parsed
from segments.signals import TRAITS, Signal, member_name
from segments.typed.conformity import SchemaMisfits

# Bounds the time that one damaged export may take.
FIELDS_MAX = 100_000
# Field number of the next level's messages, in the order of the levels.
CHILDREN = (1, 2, 2)
RECORD = len(CHILDREN)
# Fields of a metric: its kinds of data, and in each the data points.
_METRIC_DATA = (5, 7, 9, 10, 11)
_DATA_POINTS = 1
# A time of 0 or from here on counts as absent: it would not fit a signed column.
_TIME_END = 1 << 63


@dataclass(frozen=True, slots=True)
class PartialSuccess:
    """The valid part of an export, how many of its records were rejected, and why.

    A `warning` is about the part that was not rejected; `cut` counts attributes of it. Records that
    are `schema_violations` are among the rejected ones, by their places among the valid ones. Of
    JSON, `num_unknown` members were ignored, and `spelling` says which of them may be misspelt.
    """

    payload: bytes = field(repr=False)
    num_rejected: int = 0
    cause: str = "not valid OTLP, such as text that is not UTF-8"
    warning: str = ""
    cut: tuple[int, int] = (0, 0)
    schema_violations: SchemaMisfits | None = None
    num_unknown: int = 0
    spelling: str = ""


@dataclass(frozen=True, slots=True)
class WireField:
    """One field on the wire; `body` is the content of a length-delimited one, else empty."""

    number: int
    whole: bytes
    body: bytes | None


def reject_outside(signal: Signal, payload: bytes, window: tuple[int, int]) -> PartialSuccess:
    """Remove records whose event lies outside a window (nanoseconds, both ends inclusive).

    Records that carry no time count as of their arrival, and stay.
    """
    filter_ = _WindowFilter(signal, window)
    valid = filter_.valid_part(0, payload) or b""
    return PartialSuccess(valid, filter_.num_rejected, "event time outside the accepted window")


def reject_damaged(signal: Signal, payload: bytes) -> PartialSuccess:
    """Remove what does not parse; raises Refused if the frames are broken."""
    filter_ = RecordFilter(signal)
    valid = filter_.valid_part(0, payload) or b""
    cause = f"not valid OTLP ({filter_.faults.text()})"
    return PartialSuccess(valid, filter_.faults.num_rejected, cause)


class RecordFilter:
    """Splits an export into records and skips those that do not parse."""

    def __init__(self, signal: Signal, fields_max: int = FIELDS_MAX) -> None:
        self.num_rejected = 0
        self.faults = Faults()
        self._signal = signal
        self._fields_left = fields_max
        self._path: list[str] = []

    def valid_part(self, level: int, body: bytes) -> bytes | None:
        """Return the message without its damaged parts; None if nothing of it is valid."""
        if self._parses(level, body):
            return body
        if level == RECORD:
            self._reject(level, body, self._count(level, body))
            return None
        own_fields, children = self.split(body, CHILDREN[level])
        if not self._parses(level, own_fields):
            num_records = sum(self._count(level + 1, child) for child in children)
            self._reject(level, own_fields, num_records)
            return None
        kept: list[bytes] = []
        for index, child in enumerate(children):
            self._path.append(f"{member_name(TRAITS[self._signal].containers[level])}[{index}]")
            valid = self.valid_part(level + 1, child)
            self._path.pop()
            if valid is not None:
                kept.append(framed(CHILDREN[level], valid))
        return own_fields + b"".join(kept)

    def _reject(self, level: int, body: bytes, num_records: int) -> None:
        path, message = ".".join(self._path), ""
        if self.faults.is_named_next:
            below, message = fault_of(_descriptors(self._signal)[level], body)
            path += below
        self.faults.add(path.removeprefix("."), message, num_records)

    def _parses(self, level: int, body: bytes) -> bool:
        try:
            parsed(self._signal, level, body)
        except DecodeError:
            return False
        return True

    def _count(self, level: int, body: bytes) -> int:
        """Records in a message of a level; data points if they are metrics."""
        if level < RECORD:
            children = self.split(body, CHILDREN[level])[1]
            return sum(self._count(level + 1, child) for child in children)
        if self._signal != "metrics":
            return 1
        return sum(
            len(self.split(data.body, _DATA_POINTS)[1])
            for data in self.fields(body)
            if data.number in _METRIC_DATA and data.body is not None
        )

    def split(self, body: bytes, number: int) -> tuple[bytes, list[bytes]]:
        """Part a message into its own fields and the contents of one repeated message field."""
        own_fields: list[bytes] = []
        children: list[bytes] = []
        for part in self.fields(body):
            if part.number == number and part.body is not None:
                children.append(part.body)
            else:
                own_fields.append(part.whole)
        return b"".join(own_fields), children

    def fields(self, body: bytes) -> Iterator[WireField]:
        """The fields of a message; raises Refused if its frames are broken."""
        try:
            for number, start, content, end in protowire.fields(body, has_groups=False):
                self._fields_left -= 1
                if self._fields_left < 0:
                    raise malformed(f"export is damaged, and has more than {FIELDS_MAX} fields")
                yield WireField(number, body[start:end], body[content:end] if content else None)
        except protowire.MalformedWire as error:
            raise _broken(".".join(self._path), error) from error


@cache
def _descriptors(signal: Signal) -> tuple[Any, ...]:
    """Return the official schema of each level, from the request to the record or metric."""
    levels: list[Any] = [OFFICIAL_CLASSES[signal].DESCRIPTOR]
    for name in TRAITS[signal].containers:
        levels.append(levels[-1].fields_by_name[name].message_type)
    return tuple(levels)


def framed(number: int, body: bytes) -> bytes:
    """Return a length-delimited field."""
    return protowire.length_prefix(number, len(body)) + body


class _WindowFilter(RecordFilter):
    def __init__(self, signal: Signal, window: tuple[int, int]) -> None:
        # The number of records is bounded already.
        super().__init__(signal, sys.maxsize)
        self._first, self._last = window

    def valid_part(self, level: int, body: bytes) -> bytes | None:
        """Return the message without the records outside the window."""
        if level < RECORD:
            own_fields, children = self.split(body, CHILDREN[level])
            kept = (self.valid_part(level + 1, child) for child in children)
            parts = (framed(CHILDREN[level], child) for child in kept if child is not None)
            return own_fields + b"".join(parts)
        if self._signal == "metrics":
            return self._points_inside(body)
        if self._is_inside(event_time(self._signal, body)):
            return body
        self.num_rejected += 1
        return None

    def _points_inside(self, body: bytes) -> bytes | None:
        metric = Metric.FromString(body)
        kind = metric.WhichOneof("data")
        if kind is None:
            return body
        points = getattr(metric, kind).data_points
        inside = [point for point in points if self._is_inside(point.time_unix_nano)]
        num_outside = len(points) - len(inside)
        if not num_outside:
            return body
        self.num_rejected += num_outside
        if not inside:
            return None
        del points[:]
        points.extend(inside)
        return metric.SerializeToString()

    def _is_inside(self, time_nanos: int) -> bool:
        is_absent = not 0 < time_nanos < _TIME_END
        return is_absent or self._first <= time_nanos <= self._last


def event_time(signal: Signal, body: bytes) -> int:
    """Return the event time of a log record or span; 0 if it has none."""
    if signal == "traces":
        return Span.FromString(body).start_time_unix_nano
    record = LogRecord.FromString(body)
    return record.time_unix_nano or record.observed_time_unix_nano


def _broken(path: str, error: protowire.MalformedWire) -> Exception:
    text = "payload is not an OTLP export request: its frames are broken"
    return malformed(f"{text} ({f'{path}: ' if path else ''}{error})")


_RESPONSES: dict[Signal, type[Message]] = {
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
    "traces": ExportTraceServiceResponse,
}


def protobuf_answer(signal: Signal, result: PartialSuccess) -> bytes:
    """The Export...ServiceResponse; nothing in it means full success."""
    return _response(signal, result).SerializeToString() if _message(signal, result) else b""


def json_answer(signal: Signal, result: PartialSuccess) -> bytes:
    """The same in OTLP/JSON."""
    if not _message(signal, result):
        return b"{}"
    return MessageToJson(_response(signal, result), indent=None).encode()


def _response(signal: Signal, result: PartialSuccess) -> Message:
    # By OTLP's rules, a message with a number of 0 is a warning.
    rejected = f"rejected_{TRAITS[signal].records.replace(' ', '_')}"
    return _RESPONSES[signal](
        partial_success={rejected: result.num_rejected, "error_message": _message(signal, result)}
    )


def _message(signal: Signal, result: PartialSuccess) -> str:
    if not result.num_rejected:
        return result.warning
    text = f"{result.num_rejected} {TRAITS[signal].records} were not stored: {result.cause}"
    return f"{text}; {result.warning}" if result.warning else text
