"""OTLP/JSON to the protobuf bytes of the same export.

It is proto3 JSON with one difference: trace and span ids are hex, not base64. Unknown members are
ignored and enums may be numbers, as OTLP asks. Records that cannot be converted are rejected one by
one, like damaged records of protobuf exports.
"""

import base64
import json
import re
import sys
from collections.abc import Mapping

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message

from collector.export import TooManyRecords
from collector.partial_success import PartialSuccess
from collector.refusal import malformed
from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import TRAITS, Signal

# An attribute has two objects in 50 bytes, so real exports of 16 MiB stay below twice the default.
PARTS_PER_RECORD = 2
_ID_MEMBERS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
# The protobuf library has no class of its own for this error.
_UNPAIRED = "Unpaired surrogate"
_TOO_DEEP = "Message too deep"
# Messages within one another, as in OTLP/protobuf; a list or map within a list or map takes two.
NESTING_MAX = 100
_METRIC_DATA = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
_ERRORS = (ParseError, ValueError, TypeError, AttributeError, RecursionError)


def to_protobuf(signal: Signal, body: bytes, records_max: int = sys.maxsize) -> PartialSuccess:
    """Convert an OTLP/JSON export request; raises Refused if nothing of it can be converted.

    Raises TooManyRecords early if it has more objects and lists than `records_max` records could
    need: 16 MiB of empty ones would take half a minute and gigabytes.
    """
    if (parts := body.count(b"{") + body.count(b"[")) > PARTS_PER_RECORD * records_max:
        raise TooManyRecords(records_max, parts)
    try:
        tree = json.loads(body, object_hook=_with_base64_ids)
    except _ERRORS as error:
        raise _refused(signal, error) from error
    if not isinstance(tree, dict):
        raise malformed("body is not a JSON object")
    message = OFFICIAL_CLASSES[signal]()
    try:
        ParseDict(tree, message, ignore_unknown_fields=True, max_recursion_depth=NESTING_MAX)
    except _ERRORS as error:
        return _valid_part(signal, tree, error)
    return PartialSuccess(message.SerializeToString())


def _valid_part(signal: Signal, tree: Mapping[str, object], error: Exception) -> PartialSuccess:
    """Convert record by record; raises Refused if none is valid."""
    filter_ = _RecordFilter()
    message = OFFICIAL_CLASSES[signal]()
    try:
        filter_.fill(message, tree, TRAITS[signal].containers)
    except _ERRORS as own_error:
        raise _refused(signal, own_error) from own_error
    if not message.ByteSize() or not filter_.num_kept:
        raise _refused(signal, filter_.first_error or error)
    cause = f"not valid OTLP/JSON ({_cause(filter_.first_error or error)})"
    return PartialSuccess(message.SerializeToString(), filter_.num_rejected, cause)


class _RecordFilter:
    """Converts a tree and leaves out what cannot be converted."""

    def __init__(self) -> None:
        self.num_kept = 0
        self.num_rejected = 0
        self.first_error: Exception | None = None

    def fill(self, message: Message, tree: object, path: tuple[str, ...]) -> None:
        """Convert an object into `message`; raises if its own members are not valid."""
        if not isinstance(tree, dict):
            raise ParseError("not an object")
        if not path:
            ParseDict(tree, message, ignore_unknown_fields=True, max_recursion_depth=NESTING_MAX)
            self.num_kept += 1
            return
        names = (path[0], _camel(path[0]))
        own = {name: value for name, value in tree.items() if name not in names}
        ParseDict(own, message, ignore_unknown_fields=True, max_recursion_depth=NESTING_MAX)
        repeated = getattr(message, path[0])
        for child in _children(tree, path[0]):
            try:
                self.fill(repeated.add(), child, path[1:])
            except _ERRORS as error:
                del repeated[-1]
                self.first_error = self.first_error or error
                self.num_rejected += _num_records(child, path[1:], path[-1])


def _num_records(tree: object, path: tuple[str, ...], record: str) -> int:
    """Count the records of a rejected object; data points if they are metrics."""
    if path:
        return sum(_num_records(child, path[1:], record) for child in _children(tree, path[0]))
    if record != "metrics" or not isinstance(tree, dict):
        return 1
    data = [tree.get(_camel(name), tree.get(name)) for name in _METRIC_DATA]
    return max(1, sum(len(_children(kind, "data_points")) for kind in data))


def _children(tree: object, name: str) -> list[object]:
    """Return a repeated member, under either of its names; empty if it is no list."""
    children = tree.get(_camel(name), tree.get(name)) if isinstance(tree, dict) else None
    return children if isinstance(children, list) else []


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _with_base64_ids(members: dict[str, object]) -> dict[str, object]:
    """Turn the hex ids of one JSON object into the base64 that proto3 JSON wants."""
    for name in _ID_MEMBERS:
        value = members.get(name)
        if isinstance(value, str):
            # A list is refused if an id is known, and ignored with an unknown parent.
            members[name] = _base64(value) if _HEX.fullmatch(value) else []
    return members


def _base64(hex_id: str) -> str:
    return base64.b64encode(bytes.fromhex(hex_id)).decode()


def _refused(signal: Signal, error: Exception) -> Exception:
    # The parser's own message may quote the payload, so only its kind is reported.
    return malformed(f"body is not an OTLP/JSON {signal} export ({_cause(error)})")


def _cause(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    if isinstance(error, UnicodeError) or _UNPAIRED in str(error):
        return "text is not valid Unicode"
    if isinstance(error, RecursionError) or _TOO_DEEP in str(error):
        return f"nested too deeply: more than {NESTING_MAX} messages within one another"
    return "a member has the wrong type"
