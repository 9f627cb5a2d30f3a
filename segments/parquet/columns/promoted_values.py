"""Conversion of one attribute value to the type of a promoted column.

The grammars are those of docs/segment-format.md, section 4, where a test reads them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

# An attribute's value as JSON gives it.
JsonValue = str | int | float | bool | list["JsonValue"] | dict[str, "JsonValue"] | None

# Bounds the cost of reading a number or a time; strings have no bound.
CHARACTERS_MAX = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _NANOS = timedelta(seconds=1), 10**9
# ASCII: Python's own conversions take digits of every script, underscores and blanks.
_FLAGS = re.ASCII | re.IGNORECASE
_WHOLE = re.compile(r"[+-]?[0-9]+", _FLAGS)
_REAL = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|(?P<special>inf|infinity|nan))", _FLAGS
)
_HOUR, _SIXTIETH = "([01][0-9]|2[0-3])", "[0-5][0-9]"
_DATETIME = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    rf"([t ](?P<minute>{_HOUR}:{_SIXTIETH})(:(?P<second>{_SIXTIETH})([.](?P<fraction>[0-9]+))?)?"
    rf"(z|(?P<sign>[+-])(?P<zone_hour>{_HOUR}):?(?P<zone_minute>{_SIXTIETH}))?)?",
    _FLAGS,
)
_HYPHENATED = "[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"
_UUID = f"{_HYPHENATED}|[0-9a-f]{{32}}"
_GUID = re.compile(rf"(urn:uuid:)?(?P<bare>{_UUID})|[{{](?P<braced>{_UUID})[}}]", _FLAGS)


class Unconvertible(ValueError):
    """The attribute's value does not fit the column's type."""


def convert(value: JsonValue, kql_type: str) -> str | int | float | bool | None:
    """Convert one attribute value, times to nanoseconds; raises Unconvertible. Null stays null."""
    if value is None:
        return None
    try:
        return _CONVERTERS[kql_type](value)
    except (ValueError, TypeError, OverflowError) as error:
        raise Unconvertible(f"{value!r} is no {kql_type}") from error


def _string(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise TypeError
    return json.dumps(value)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _bool(value: JsonValue) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise TypeError


def _whole(bits: int) -> Callable[[JsonValue], int]:
    def convert_whole(value: JsonValue) -> int:
        if isinstance(value, str):
            number = int(_match(_WHOLE, value)[0])
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError
        elif isinstance(value, float) and not value.is_integer():
            raise ValueError
        else:
            number = int(value)
        return _in_range(number, bits)

    return convert_whole


def _real(value: JsonValue) -> float:
    if isinstance(value, str):
        match = _match(_REAL, value)
        number = float(match[0])
        if math.isinf(number) and not match["special"]:
            raise OverflowError
        return number
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _datetime(value: JsonValue) -> int:
    if not isinstance(value, str):
        return _whole(64)(value)
    match = _match(_DATETIME, value)
    clock = f"{match['minute'] or '00:00'}:{match['second'] or '00'}"
    time = datetime.fromisoformat(f"{match['date']}T{clock}+00:00")
    # Whole nanoseconds, of which a datetime has no more than thousands.
    nanos = int((match["fraction"] or "0")[:9].ljust(9, "0"))
    return _in_range((time - _EPOCH) // _SECOND * _NANOS + nanos - _zone_nanos(match), 64)


def _zone_nanos(match: re.Match[str]) -> int:
    if not match["sign"]:
        return 0
    minutes = int(match["zone_hour"]) * 60 + int(match["zone_minute"])
    return (minutes if match["sign"] == "+" else -minutes) * 60 * _NANOS


def _guid(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError
    match = _match(_GUID, value)
    return str(UUID(match["bare"] or match["braced"]))


def _match(grammar: re.Pattern[str], text: str) -> re.Match[str]:
    match = grammar.fullmatch(text) if len(text) <= CHARACTERS_MAX else None
    if match is None:
        raise ValueError
    return match


def _in_range(number: int, bits: int) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise OverflowError
    return number


_CONVERTERS: dict[str, Callable[[JsonValue], str | int | float | bool]] = {
    "string": _string,
    "bool": _bool,
    "int": _whole(32),
    "long": _whole(64),
    "real": _real,
    "datetime": _datetime,
    "timespan": _whole(64),
    "guid": _guid,
    "dynamic": _json,
}
# Types whose values of this Python type are taken as they are: whole numbers may be out of range.
NATIVE_TYPES: dict[str, type] = {"string": str, "bool": bool, "real": float}
# Texts in UTF-8 that fit for certain: most of those that do, recognized without a conversion. Times
# of the years 1700 to 2199 are within the range, and every month has 28 days.
CERTAIN_TEXTS: dict[str, re.Pattern[bytes]] = {
    "datetime": re.compile(
        rb"(1[789]|2[01])[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
        rb"[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?([Zz]|[+-]0[0-9]:00)?"
    ),
    "guid": re.compile(rb"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
}
