"""The nine types: how they widen, and the literals that name them.

Values of constants: datetime is microseconds since 1970, timespan is nanoseconds, dynamic is JSON
text, guid lower-case text; None is the null of any type.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

KqlType = Literal[
    "bool", "int", "long", "real", "string", "datetime", "timespan", "guid", "dynamic"
]
# Types in the order of the contract's KqlType: the index is the number.
TYPES: tuple[KqlType, ...] = get_args(KqlType)
NUMBERS: tuple[KqlType, ...] = ("int", "long", "real")
ORDERED: tuple[KqlType, ...] = (*NUMBERS, "string", "datetime", "timespan")
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DAY_NANOS = 86_400 * 10**9
# The first and the last microsecond that every engine can hold.
DATETIME_MIN = -62_135_596_800_000_000
DATETIME_MAX = 253_402_300_799_999_999

_UNITS = {
    ("tick", "ticks"): 100,
    ("microsecond", "microseconds"): 1_000,
    ("ms", "millisecond", "milliseconds"): 10**6,
    ("s", "sec", "second", "seconds"): 10**9,
    ("m", "min", "minute", "minutes"): 60 * 10**9,
    ("h", "hr", "hour", "hours"): 3_600 * 10**9,
    ("d", "day", "days"): DAY_NANOS,
}
UNIT_NANOS = {name: nanos for names, nanos in _UNITS.items() for name in names}
ALIASES: dict[str, KqlType] = {
    **{name: name for name in TYPES},
    "boolean": "bool",
    "double": "real",
    "date": "datetime",
    "time": "timespan",
    "uuid": "guid",
}
Value = bool | int | float | str | None

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|[+-]\d\d:\d\d)?"
)
_SPAN = re.compile(r"(-)?(?:(\d{1,6})\.)?(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?")
_UNIT_SPAN = re.compile(r"(-)?(\d+(?:\.\d+)?)([a-z]+)")
_HEXADECIMAL = re.compile("0[xX]([0-9a-fA-F]{1,16})")
# A text of JSON in either kind of quotes.
_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)
_GUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_narrower(type_: KqlType, than: KqlType) -> bool:
    """Return whether a number of one type fits into another one."""
    if type_ not in NUMBERS or than not in NUMBERS:
        return False
    return NUMBERS.index(type_) < NUMBERS.index(than)


def fits(type_: KqlType, declared: KqlType) -> bool:
    """Return whether a column of a type serves as one of the declared type."""
    return type_ == declared or is_narrower(type_, declared)


def literal(type_: KqlType, text: str) -> Value:
    """Return the value of `type(text)`. Raises ValueError that names the expected form."""
    text = text.strip()
    if text == "null":
        if type_ == "string":
            raise ValueError("a string is never null: write ''")
        return None
    return _READERS[type_](text)


def timespan(text: str) -> int:
    """Return nanoseconds of `1.5h`, `d.hh:mm:ss.fffffff`. Raises ValueError."""
    if match := _UNIT_SPAN.fullmatch(text):
        sign, number, unit = match.groups()
        if unit not in UNIT_NANOS:
            raise ValueError(f"a timespan has one of the units {', '.join(UNIT_NANOS)}")
        if number.isdecimal():
            nanos = int(number[:30]) * UNIT_NANOS[unit]
        else:
            nanos = round(min(float(number), LONG_MAX) * UNIT_NANOS[unit])
    elif match := _SPAN.fullmatch(text):
        sign, days, hours, minutes, seconds, fraction = match.groups()
        whole = int(hours) * 3_600 + int(minutes) * 60 + int(seconds or 0)
        nanos = int(days or 0) * DAY_NANOS + whole * 10**9 + int((fraction or "0").ljust(9, "0"))
    elif text.isdecimal():
        sign, nanos = None, int(text[:30]) * DAY_NANOS
    else:
        raise ValueError("write a timespan as 5m, 1.5h or 1.02:03:04")
    if nanos > LONG_MAX:
        raise ValueError("a timespan has at most 106,751 days")
    return -nanos if sign else nanos


def _datetime(text: str) -> int:
    text = text.strip("'\"")
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("write a time as datetime(2026-01-31T12:00:00Z)")
    date, minutes, seconds, fraction, zone = match.groups()
    fraction = (fraction or "").ljust(6, "0")
    if fraction[6:].strip("0"):
        raise ValueError("times have microseconds: the rest is in the column <time>_nanos")
    zone = "+00:00" if zone in (None, "Z") else zone
    iso = f"{date}T{minutes or '00:00'}:{seconds or '00'}.{fraction[:6]}{zone}"
    try:
        elapsed = datetime.fromisoformat(iso).astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError):
        raise ValueError("there is no such time between the years 1 and 9999") from None
    return elapsed // timedelta(microseconds=1)


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("write true or false")
    return text == "true"


def _whole(text: str, high: int) -> int:
    if hexadecimal := _HEXADECIMAL.fullmatch(text):
        return _from_hexadecimal(hexadecimal[1], high)
    # Python converts no text of more than 4,300 digits, and none of them fits.
    if not re.fullmatch(r"[+-]?\d{1,30}", text) or not -high - 1 <= int(text) <= high:
        raise ValueError(f"write a whole number of at most {high}")
    return int(text)


def _from_hexadecimal(digits: str, high: int) -> int:
    """Read two's complement: the highest bit of the type is its sign, as in Kusto."""
    value, values = int(digits, 16), 2 * (high + 1)
    if value >= values:
        raise ValueError(f"write a whole number of at most {high}")
    return value - values if value > high else value


def _real(text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+|inf|nan)", text, re.IGNORECASE):
        raise ValueError("write a number, nan, +inf or -inf")
    return float(text)


def _guid_text(text: str) -> str:
    text = text.strip("'\"").lower()
    if not _GUID.fullmatch(text):
        raise ValueError("write a guid as 74be27de-1e4e-49d9-b579-fe0b331d3642")
    return text


def _dynamic(text: str) -> str:
    try:
        value = json.loads(_QUOTED.sub(_in_double_quotes, text))
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        raise ValueError('write JSON, such as dynamic({"a": [1, 2]})') from None


def _in_double_quotes(match: re.Match[str]) -> str:
    """Write a text of JSON in single quotes, which Kusto allows, in double ones."""
    text = match[0]
    if text[0] == '"':
        return text
    inner = text[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', inner) + '"'


def _string(text: str) -> str:
    raise ValueError(f"write a text in quotes instead of string({text[:20]})")


_READERS: dict[KqlType, Callable[[str], Value]] = {
    "bool": _bool,
    "int": lambda text: _whole(text, INT_MAX),
    "long": lambda text: _whole(text, LONG_MAX),
    "real": _real,
    "string": _string,
    "datetime": _datetime,
    "timespan": timespan,
    "guid": _guid_text,
    "dynamic": _dynamic,
}
