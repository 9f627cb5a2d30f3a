"""OTLP/JSON to the protobuf bytes of the same export.

It is proto3 JSON with one difference: trace and span ids are hex, not base64. Unknown members are
ignored and enums may be numbers, as OTLP asks.
"""

import base64
import json
import re
import sys

from google.protobuf.json_format import ParseDict, ParseError

from collector.export import TooManyRecords
from collector.partial_success import PartialSuccess
from collector.refusal import malformed
from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import Signal

# An attribute has two objects in 50 bytes, so real exports of 16 MiB stay below twice the default.
PARTS_PER_RECORD = 2
_ID_MEMBERS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")


def to_protobuf(signal: Signal, body: bytes, records_max: int = sys.maxsize) -> PartialSuccess:
    """Convert an OTLP/JSON export request; raises Refused if it is none.

    Raises TooManyRecords, quickly, where it has more objects and lists than `records_max` records
    could need: 16 MiB of empty ones would take half a minute and gigabytes.
    """
    if (parts := body.count(b"{") + body.count(b"[")) > PARTS_PER_RECORD * records_max:
        raise TooManyRecords(records_max, parts)
    message = OFFICIAL_CLASSES[signal]()
    try:
        tree = json.loads(body, object_hook=_with_base64_ids)
        if not isinstance(tree, dict):
            raise malformed("body is not a JSON object")
        ParseDict(tree, message, ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # The parser's own message may quote the payload, so only its kind is told.
        raise malformed(f"body is not an OTLP/JSON {signal} export ({_cause(error)})") from error
    return PartialSuccess(message.SerializeToString(), 0)


def _with_base64_ids(members: dict[str, object]) -> dict[str, object]:
    """Turn the hex ids of one JSON object into the base64 that proto3 JSON wants."""
    for name in _ID_MEMBERS:
        value = members.get(name)
        if isinstance(value, str):
            # A list is refused where an id is known, and ignored with an unknown parent.
            members[name] = _base64(value) if _HEX.fullmatch(value) else []
    return members


def _base64(hex_id: str) -> str:
    return base64.b64encode(bytes.fromhex(hex_id)).decode()


def _cause(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    if isinstance(error, UnicodeError):
        return "text is not valid Unicode"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a member has the wrong type"
