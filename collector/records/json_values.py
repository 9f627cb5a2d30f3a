"""JSON as it was written: numbers by their digits, and objects by their members in order.

Python's own objects lose facts that a sender may need: a member that is there twice, the digits of
a number, and the place of a NaN. Values become OTLP's only if nothing of them is lost.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValueList

# Objects and lists within one another in a value. OTLP takes two messages for each.
DEPTH_MAX = 32
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1
# Up to here every whole number is a double.
_EXACT_MAX = 2**53
_DIGITS_MAX = 40


class Members(tuple[tuple[str, Any], ...]):
    """The members of one object, in their order; a name may be there twice."""

    __slots__ = ()


class Number(str):
    """A number with a fraction or an exponent, as it was written."""

    __slots__ = ()


class NotJson(str):
    """NaN or Infinity, which are not JSON."""

    __slots__ = ()


class Misfit(ValueError):
    """A value cannot be kept as it is: the path to it below its record, and why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


def parse(text: bytes) -> Any:
    """Parse JSON into Members, lists, str, int, Number, NotJson, bool and None.

    A byte order mark before it is skipped, as RFC 8259 allows.
    Raises ValueError (json.JSONDecodeError, UnicodeDecodeError) and RecursionError.
    """
    return _DECODER.decode(text.decode("utf-8-sig"))


def write(value: Any) -> str:
    """Write a parsed value as JSON, without blanks and with its numbers as they were written."""
    return "".join(_pieces(value))


def real(number: str, path: str) -> float:
    """Read a number as a double; raises Misfit if it would become another number."""
    value = float(number)
    is_zero = not number.lower().partition("e")[0].strip("-0.")
    if abs(value) == float("inf") or (not value and not is_zero):
        raise Misfit(path, "the number is beyond the range of a double")
    if abs(value) > _EXACT_MAX and Decimal(repr(value)) != Decimal(number):
        raise Misfit(path, "the number has more digits than a double keeps; send it as text")
    return value


def fill(target: AnyValue, value: Any, path: str, depth: int = DEPTH_MAX) -> None:
    """Set an OTLP value to a parsed one; raises Misfit."""
    if isinstance(value, NotJson):
        raise Misfit(path, f"{value} is not JSON; leave the field out or send null")
    if isinstance(value, Number):
        target.double_value = real(value, path)
    elif isinstance(value, str):
        target.string_value = text(value, path)
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise Misfit(path, "the whole number does not fit 64 bits; send it as text")
        target.int_value = value
    elif value is not None:
        _fill_nested(target, value, path, depth)


def text(value: str, path: str) -> str:
    """Return a text that UTF-8 can hold; raises Misfit."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit(path, "the text has half of a surrogate pair") from None
    return value


def named(members: Members, path: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield each member with its path; raises Misfit at a name that was there before."""
    names: set[str] = set()
    for name, value in members:
        own_path = f"{path}.{name}" if path else name
        if name in names:
            raise Misfit(own_path, "the object has this member twice")
        names.add(name)
        text(name, own_path)
        yield name, value, own_path


def _fill_nested(target: AnyValue, value: Any, path: str, depth: int) -> None:
    if not depth:
        raise Misfit(path, f"more than {DEPTH_MAX} objects and lists within one another")
    if isinstance(value, Members):
        # This is also done for an empty object, because it is not null.
        target.kvlist_value.CopyFrom(KeyValueList())
        for name, member, own_path in named(value, path):
            entry = target.kvlist_value.values.add(key=name)
            fill(entry.value, member, own_path, depth - 1)
        return
    target.array_value.CopyFrom(ArrayValue())
    for index, element in enumerate(value):
        fill(target.array_value.values.add(), element, f"{path}[{index}]", depth - 1)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, Members):
        yield "{"
        for index, (name, member) in enumerate(value):
            yield f"{',' if index else ''}{json.dumps(name, ensure_ascii=False)}:"
            yield from _pieces(member)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for index, element in enumerate(value):
            yield "," if index else ""
            yield from _pieces(element)
        yield "]"
    elif isinstance(value, Number):
        yield value
    else:
        yield json.dumps(value, ensure_ascii=False)


def _integer(digits: str) -> int:
    # Longer ones do not fit 64 bits either, and take Python minutes or an error of its own.
    return int(digits) if len(digits) <= _DIGITS_MAX else INTEGER_MAX + 1


_DECODER = json.JSONDecoder(
    object_pairs_hook=Members,
    parse_float=Number,
    parse_int=_integer,
    parse_constant=NotJson,
)
