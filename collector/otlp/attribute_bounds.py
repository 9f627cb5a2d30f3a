"""Bounds on attributes: excess is cut and counted, and no record is lost.

As in OpenTelemetry's SDKs, an attribute beyond the number is dropped and a long text is shortened.
A name is never shortened, since it would be another name: its attribute is dropped. The numbers of
dropped attributes are added to the `dropped_attributes_count` of their record, scope or resource,
if OTLP has one; data points have none.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.otlp.partial_success import CHILDREN, RECORD, PartialSuccess, RecordFilter, framed
from segments.signals import Signal
from segments.v1.otlp_counts_pb2 import (
    EventSizes,
    LinkSizes,
    LogSizes,
    RecordCounts,
    ResourceSizes,
    ScopeSizes,
    SpanSizes,
)

# Parts up to this size are not examined, unless a bound is smaller: their content is bounded, and
# nearly all are smaller.
EXAMINED_BYTES_MIN = 8 * 1024
_UNBOUNDED = sys.maxsize
_RECORDS: dict[Signal, type[Message]] = {"logs": LogRecord, "metrics": Metric, "traces": Span}
# Field number of a ResourceLogs' resource and of a ScopeLogs' scope, and likewise.
_OWNER = 1
_OWNERS: tuple[type[Message] | None, ...] = (None, Resource, InstrumentationScope)
_LISTS = ("attributes", "filtered_attributes")


@dataclass(frozen=True, slots=True)
class AttributeBounds:
    """The largest number of attributes of one part, and bytes of a name and a value; 0 = none."""

    attributes_max: int = 0
    name_bytes_max: int = 0
    value_bytes_max: int = 0

    @property
    def part_bytes_min(self) -> int:
        """Bytes above which a resource, scope or record may exceed the bounds."""
        sizes = (self.name_bytes_max, self.value_bytes_max)
        smallest = min((size for size in sizes if size), default=EXAMINED_BYTES_MIN)
        # The least size of an attribute with a name; four more with a value.
        by_number = 8 * self.attributes_max or EXAMINED_BYTES_MIN
        is_any = any((self.attributes_max, *sizes))
        return min(EXAMINED_BYTES_MIN, smallest, by_number) if is_any else _UNBOUNDED

    def is_within(self, attributes: Sequence[bytes]) -> bool:
        """Return whether a list of encoded attributes is certainly within the bounds."""
        if len(attributes) > (self.attributes_max or _UNBOUNDED):
            return False
        bytes_max = min(self.name_bytes_max or _UNBOUNDED, self.value_bytes_max or _UNBOUNDED)
        return all(self._is_within(each) for each in attributes if len(each) > bytes_max)

    def _is_within(self, encoded: bytes) -> bool:
        attribute = KeyValue.FromString(encoded)
        return not self.is_long_name(attribute.key) and (
            attribute.value.ByteSize() <= (self.value_bytes_max or _UNBOUNDED)
        )

    def is_long_name(self, name: str) -> bool:
        """Return whether a name is beyond its bound."""
        return len(name.encode()) > (self.name_bytes_max or _UNBOUNDED)


def may_exceed(signal: Signal, payload: bytes, bounds: AttributeBounds) -> bool:
    """Return whether the large parts of a valid export may hold attributes beyond the bounds.

    Quick, since records with long bodies or stack traces are common. Large data points are rare,
    and are not distinguished from their attributes.
    """
    if signal == "metrics":
        return True
    lists = _log_lists if signal == "logs" else _span_lists
    bytes_min = bounds.part_bytes_min
    for resource in RecordCounts.FromString(payload).resources:
        if not bounds.is_within(ResourceSizes.FromString(resource.resource).attributes):
            return True
        for scope in resource.scopes:
            if not bounds.is_within(ScopeSizes.FromString(scope.scope).attributes):
                return True
            large = (record for record in scope.records if len(record) > bytes_min)
            if not all(bounds.is_within(each) for record in large for each in lists(record)):
                return True
    return False


def _log_lists(record: bytes) -> Iterator[Sequence[bytes]]:
    yield LogSizes.FromString(record).attributes


def _span_lists(record: bytes) -> Iterator[Sequence[bytes]]:
    sizes = SpanSizes.FromString(record)
    yield sizes.attributes
    parts: tuple[EventSizes | LinkSizes, ...] = (*sizes.events, *sizes.links)
    for part in parts:
        yield part.attributes


def cut(signal: Signal, payload: bytes, bounds: AttributeBounds) -> PartialSuccess:
    """Drop and shorten attributes beyond the bounds; all other bytes stay as they are."""
    cutter = _Cutter(signal, bounds)
    kept = cutter.within(0, payload)
    return PartialSuccess(
        kept, warning=cutter.warning(), cut=(cutter.num_dropped, cutter.num_shortened)
    )


class _Cutter:
    def __init__(self, signal: Signal, bounds: AttributeBounds) -> None:
        self.num_dropped = 0
        self.num_shortened = 0
        self._signal = signal
        self._bounds = bounds
        # The number of records is bounded already.
        self._filter = RecordFilter(signal, sys.maxsize)

    def warning(self) -> str:
        """Text for the sender; empty if nothing was cut."""
        if not self.num_dropped and not self.num_shortened:
            return ""
        bounds = self._bounds
        return (
            f"{self.num_dropped} attributes were dropped and {self.num_shortened} values shortened:"
            f" the collector keeps {bounds.attributes_max or 'any number of'} attributes of a"
            f" record, names of {bounds.name_bytes_max or 'any'} bytes and values of"
            f" {bounds.value_bytes_max or 'any'} bytes"
        )

    def within(self, level: int, body: bytes) -> bytes:
        """Return a message, from the request (level 0) to the record, within the bounds."""
        if level == RECORD:
            return self._cut(_RECORDS[self._signal], body)
        own_fields, children = self._filter.split(body, CHILDREN[level])
        if (owner := _OWNERS[level]) is not None:
            others, parts = self._filter.split(own_fields, _OWNER)
            own_fields = others + b"".join(framed(_OWNER, self._cut(owner, part)) for part in parts)
        kept = (framed(CHILDREN[level], self.within(level + 1, child)) for child in children)
        return own_fields + b"".join(kept)

    def _cut(self, kind: type[Message], body: bytes) -> bytes:
        if len(body) <= self._bounds.part_bytes_min:
            return body
        message = kind.FromString(body)
        before = self.num_dropped, self.num_shortened
        self._cut_lists(message)
        is_cut = before != (self.num_dropped, self.num_shortened)
        return message.SerializeToString() if is_cut else body

    def _cut_lists(self, message: Any) -> None:
        """Cut the attributes of a message and of the events, links, points and exemplars in it."""
        for field, value in message.ListFields():
            if field.name in _LISTS:
                num_dropped = self._cut_list(value)
                if hasattr(message, "dropped_attributes_count"):
                    total = message.dropped_attributes_count + num_dropped
                    message.dropped_attributes_count = min(total, 2**32 - 1)
            elif field.message_type is None or field.message_type.name in ("AnyValue", "KeyValue"):
                continue
            elif isinstance(value, Message):
                self._cut_lists(value)
            else:
                for part in value:
                    self._cut_lists(part)

    def _cut_list(self, attributes: Any) -> int:
        kept: list[KeyValue] = []
        for attribute in attributes:
            if len(kept) == (self._bounds.attributes_max or _UNBOUNDED):
                break
            if not self._bounds.is_long_name(attribute.key) and self._fits(attribute.value):
                kept.append(attribute)
        num_dropped = len(attributes) - len(kept)
        if num_dropped:
            copies = [KeyValue.FromString(each.SerializeToString()) for each in kept]
            del attributes[:]
            attributes.extend(copies)
        self.num_dropped += num_dropped
        return num_dropped

    def _fits(self, value: AnyValue) -> bool:
        """Shorten a text or bytes that are too long; false for a list or map that is too large."""
        bytes_max = self._bounds.value_bytes_max or _UNBOUNDED
        kind = value.WhichOneof("value")
        if kind == "string_value":
            encoded = value.string_value.encode()
            if len(encoded) > bytes_max:
                # A character is never cut in two.
                value.string_value = encoded[:bytes_max].decode(errors="ignore")
                self.num_shortened += 1
        elif kind == "bytes_value":
            if len(value.bytes_value) > bytes_max:
                value.bytes_value = value.bytes_value[:bytes_max]
                self.num_shortened += 1
        else:
            return value.ByteSize() <= bytes_max
        return True
