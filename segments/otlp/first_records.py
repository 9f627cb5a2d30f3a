"""Signs of a sender's fault in the first record of each scope.

The first is enough, because a sender treats all its records alike. Nearly all begin as only a
record of their signal does, and are not parsed. A field of the schema with another wire type is of
another signal: parsers skip it, and store a record of garbage.
"""

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from segments.otlp.official import OFFICIAL_CLASSES
from segments.otlp.validation import parsed
from segments.signals import TRAITS, Signal, member_name

_RECORD = 3
_HEX_DIGITS = b"0123456789abcdefABCDEF"


class FirstRecords:
    """Paths of the first record of another signal, and of the first id of hexadecimal letters."""

    def __init__(self, signal: Signal) -> None:
        self.foreign = ""
        self.hex_id = ""
        self._signal = signal
        self._numbers = _NUMBERS[signal]

    def look(self, resource: int, scope: int, record: bytes) -> None:
        """Look at a scope's first log record or span."""
        if _IS_USUAL[self._signal](record):
            return
        try:
            message: Any = parsed(self._signal, _RECORD, record)
        except DecodeError:
            # Found by the validation that follows.
            return
        self.look_at_fields(resource, scope, message)
        if len(message.trace_id) == 32 or len(message.span_id) == 16:
            for name, value in (("traceId", message.trace_id), ("spanId", message.span_id)):
                is_hex = len(value) in (16, 32) and not value.strip(_HEX_DIGITS)
                if is_hex and len(value) == (32 if name == "traceId" else 16):
                    self.hex_id = self.hex_id or f"{self._path(resource, scope)}.{name}"

    def look_at_fields(self, resource: int, scope: int, message: Message) -> None:
        """Look for fields of the schema that a scope's first record has with another wire type."""
        # The library has an iterator, which its types do not declare.
        fields: Any = UnknownFieldSet(message)
        for unknown in fields:
            wire_type = self._numbers.get(unknown.field_number)
            if wire_type is not None and wire_type != unknown.wire_type:
                self.foreign = self.foreign or self._path(resource, scope)
                return

    def _path(self, resource: int, scope: int) -> str:
        names = map(member_name, TRAITS[self._signal].containers)
        return ".".join(
            f"{name}[{at}]" for name, at in zip(names, (resource, scope, 0), strict=True)
        )


def _is_usual_log(record: bytes) -> bool:
    """Return whether a record begins with a time and has no id as long as hexadecimal letters."""
    return record[:1] == b"\x09" and b"\x4a\x20" not in record and b"\x52\x10" not in record


def _is_usual_span(record: bytes) -> bool:
    """Return whether a span begins with a trace id of 16 bytes and a span id of 8."""
    return record[:2] == b"\x0a\x10" and record[18:20] == b"\x12\x08"


_IS_USUAL: dict[Signal, Callable[[bytes], bool]] = {
    "logs": _is_usual_log,
    "traces": _is_usual_span,
}


def _wire_types(signal: Signal) -> dict[int, int]:
    """Return the wire type of each field of a signal's records."""
    descriptor: Any = OFFICIAL_CLASSES[signal].DESCRIPTOR
    for name in TRAITS[signal].containers:
        descriptor = descriptor.fields_by_name[name].message_type
    return {field.number: _wire_type(field) for field in descriptor.fields}


def _wire_type(field: Any) -> int:
    if field.type in (field.TYPE_STRING, field.TYPE_BYTES, field.TYPE_MESSAGE):
        return 2
    if field.type in (field.TYPE_FIXED64, field.TYPE_SFIXED64, field.TYPE_DOUBLE):
        return 1
    if field.type in (field.TYPE_FIXED32, field.TYPE_SFIXED32, field.TYPE_FLOAT):
        return 5
    return 0


_NUMBERS: dict[Signal, dict[int, int]] = {signal: _wire_types(signal) for signal in TRAITS}
