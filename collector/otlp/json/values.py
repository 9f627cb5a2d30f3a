"""Scalar values of proto3 JSON: each reader returns the value of its type, or raises Unfit.

The rules are those of proto3 JSON, with the differences of OTLP/JSON: ids are hexadecimal, and
enumerations are numbers. Names of enumerations are read too, since each has one meaning.
https://protobuf.dev/programming-guides/json/
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

import binascii
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

WHOLE_NUMBERS = "a whole number"
# Whole numbers up to here are exact as doubles, which is what JSON's fractions are parsed to.
EXACT_MAX = 1 << 53
_INTEGER = re.compile(r"-?[0-9]{1,40}")
_NUMBER = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
# Exponents of a number with fewer digits than this fit every type.
_DIGITS_MAX = 40
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class RepeatedMember(dict[str, object]):
    """A JSON object that had a member twice: which one counts is not defined."""


class Unfit(Exception):
    """A value is not of its member's type; says what was found, never the value itself."""

    def __init__(self, actual: str, expected: str) -> None:
        super().__init__(actual, expected)
        self._actual = actual
        self._expected = expected
        self._path: list[str] = []

    def within(self, part: str) -> "Unfit":
        """Add the member or index that the path so far is within."""
        self._path.append(part)
        return self

    def path(self, outer: str = "") -> str:
        """Return the path of the value, below an outer one."""
        return f"{outer}{''.join(reversed(self._path))}".removeprefix(".")

    @property
    def message(self) -> str:
        """The kind of the value, and the expected one."""
        return f"found {self._actual}, expected {self._expected}"

    def text(self) -> str:
        """Return the path, if there is one, and the message."""
        path = self.path()
        return f"{path}: {self.message}" if path else self.message


def kind_of(value: object) -> str:
    """Return the kind of a JSON value as an indefinite noun."""
    if isinstance(value, RepeatedMember):
        return "an object that has a member twice"
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, str):
        return "text" if value else "an empty text"
    if isinstance(value, bool):
        return "a boolean"
    if value is None:
        return "null"
    return "a whole number" if isinstance(value, int) else "a number"


def whole_number(value: object) -> int:
    """Read a whole number: as such, as text, or with an exponent or a fraction of zero."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        return _whole_text(value)
    if isinstance(value, float) and value.is_integer():
        if abs(value) > EXACT_MAX:
            raise Unfit("a number with a fraction or exponent beyond 2^53", WHOLE_NUMBERS)
        return int(value)
    raise Unfit(kind_of(value), WHOLE_NUMBERS)


def _whole_text(text: str) -> int:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        number = Decimal(text)
        if number.adjusted() < _DIGITS_MAX and number == number.to_integral_value():
            return int(number)
    raise Unfit("text that is not a whole number" if text else "an empty text", WHOLE_NUMBERS)


def double(value: object) -> float:
    """Read a double: a number, a number as text, or the text NaN, Infinity or -Infinity."""
    if isinstance(value, str):
        if value in _SPECIAL:
            return _SPECIAL[value]
        if not _NUMBER.fullmatch(value):
            raise Unfit("text that is not a number" if value else "an empty text", "a number")
        value = float(value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit(kind_of(value), "a number")
    if isinstance(value, float) and math.isnan(value):
        raise Unfit("NaN, which is not JSON", 'a number or the text "NaN"')
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise Unfit("a number beyond a double", "a number")
    return number


def boolean(value: object) -> bool:
    """Read true or false."""
    if type(value) is not bool:
        raise Unfit(kind_of(value), "true or false")
    return value


def hexadecimal(value: object) -> bytes:
    """Read an id, in hexadecimal of either case."""
    if not isinstance(value, str):
        raise Unfit(kind_of(value), "hexadecimal digits")
    if not _HEX.fullmatch(value):
        raise Unfit("text that is not pairs of hexadecimal digits", "hexadecimal digits")
    return bytes.fromhex(value)


def base64_bytes(value: object) -> bytes:
    """Read bytes in base64, standard or URL-safe, with or without padding."""
    if not isinstance(value, str):
        raise Unfit(kind_of(value), "base64")
    if not _BASE64.fullmatch(value):
        raise Unfit("text that is not base64", "base64")
    digits = value.rstrip("=").encode().translate(_URL_SAFE)
    try:
        return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))
    except binascii.Error:
        raise Unfit("base64 of an impossible length", "base64") from None


def enumeration(name: str, numbers: Mapping[str, int]) -> Callable[[object], int]:
    """Return a reader of an enumeration's number, as such, as text, or as its exact name."""
    example = min(numbers, key=numbers.__getitem__)

    def read(value: object) -> int:
        if isinstance(value, str):
            number = numbers.get(value)
            if number is not None:
                return number
            if not _INTEGER.fullmatch(value):
                actual = f"text that is not a name of {name}" if value else "an empty text"
                raise Unfit(actual, f"a number or a name such as {example}")
        return whole_number(value)

    return read
