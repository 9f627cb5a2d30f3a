"""OTLP that no careful sender writes: each maker takes a signal and a source of chance."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import Signal
from tests.support.otlp.messages import alone, dirty, fill, length_delimited, varint

# 24 bytes that are not text: bad lead and continuation bytes, overlong forms, a surrogate, a code
# point beyond the last, a sequence cut short.
NO_TEXT = (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80")
MARK = "mark of the place to spoil"
DEPTH_MAX = 60


def plain(signal: Signal, rnd: random.Random) -> bytes:
    """A message as the official classes write it."""
    return bytes(fill(OFFICIAL_CLASSES[signal](), rnd).SerializeToString())


def strange(signal: Signal, rnd: random.Random) -> bytes:
    """A message written in a legal but strange way."""
    return dirty(fill(OFFICIAL_CLASSES[signal](), rnd), rnd)


def with_bad_text(signal: Signal, rnd: random.Random) -> bytes:
    """A message with one string that is not UTF-8; plain where it has no string."""
    message = fill(OFFICIAL_CLASSES[signal](), rnd)
    if not (places := list(_strings(message))):
        return bytes(message.SerializeToString())
    holder, name = rnd.choice(places)
    setattr(holder, name, MARK)
    bad = rnd.choice(NO_TEXT)
    # At the end, or before more text.
    spoilt = rnd.choice(((MARK[: -len(bad)].encode() + bad), bad.ljust(len(MARK), b"a")))
    return bytes(message.SerializeToString()).replace(MARK.encode(), spoilt)


def truncated(signal: Signal, rnd: random.Random) -> bytes:
    """The beginning of a message."""
    body = strange(signal, rnd)
    return body[: rnd.randrange(len(body) + 1)]


def deep(signal: Signal, rnd: random.Random) -> bytes:
    """Values within values, at any place that takes one, often near what is allowed."""
    message = fill(OFFICIAL_CLASSES[signal](), rnd)
    if places := list(_values(message)):
        depth = rnd.choice((rnd.randrange(DEPTH_MAX), rnd.randrange(20, 52)))
        rnd.choice(places).string_value = MARK
        return _with_value(message, nested_value(depth, rnd))
    return bytes(message.SerializeToString())


def large(signal: Signal, rnd: random.Random) -> bytes:
    """A message with a string of a megabyte, or with 10,000 attributes or elements."""
    message = fill(OFFICIAL_CLASSES[signal](), rnd)
    values = list(_values(message))
    if not values:
        return bytes(message.SerializeToString())
    value = rnd.choice(values)
    match rnd.randrange(4):
        case 0:
            value.string_value = rnd.choice(('x"', "abcdefgh", "é\n")) * (1 << 20)
            value.string_value = value.string_value[: 1 << 20]
        case 1:
            value.bytes_value = rnd.randbytes(1 << 20)
        case 2:
            value.array_value.values.extend(_scalar_value(rnd) for _ in range(10_000))
        case _:
            entries = rnd.choice([value.kvlist_value.values, *_attribute_lists(message)])
            entries.extend(
                KeyValue(key=f"k{rnd.randrange(5_000)}", value=_scalar_value(rnd))
                for _ in range(10_000)
            )
    return bytes(message.SerializeToString())


def in_groups(signal: Signal, rnd: random.Random) -> bytes:
    """Unknown groups, nested, some beyond what the official classes take, some never ended."""
    depth = rnd.choice((1, 3, 95, 105, 1_000))
    number = rnd.choice((100, 127, 5_000))
    ends = depth - rnd.choice((0, 0, 0, 1))
    group = varint(number << 3 | 3) * depth + b"\x08\x01" + varint(number << 3 | 4) * ends
    body = strange(signal, rnd)
    return rnd.choice((group + body, body + group, body + length_delimited(1, group)))


def nested_value(depth: int, rnd: random.Random) -> bytes:
    """An AnyValue with text below `depth` lists, of either kind."""
    value = bytes(AnyValue(string_value="deep").SerializeToString())
    for _ in range(depth):
        if rnd.random() < 0.3:
            value = length_delimited(6, length_delimited(1, length_delimited(2, value)))
        else:
            value = length_delimited(5, length_delimited(1, value))
    return value


MAKERS: tuple[tuple[Callable[[Signal, random.Random], bytes], int], ...] = (
    (plain, 25),
    (strange, 35),
    (with_bad_text, 12),
    (truncated, 12),
    (deep, 10),
    (in_groups, 5),
    (large, 1),
)


def payload(signal: Signal, rnd: random.Random) -> bytes:
    """A message of any of these kinds; large ones are rare."""
    makers, weights = zip(*MAKERS, strict=True)
    maker: Callable[[Signal, random.Random], bytes] = rnd.choices(makers, weights)[0]
    return maker(signal, rnd)


def _with_value(message: Any, value: bytes) -> bytes:
    """Write a message with `value` in place of the marked one, which no class may accept."""
    if isinstance(message, AnyValue) and message.string_value == MARK:
        return value
    pieces = []
    for field, content in message.ListFields():
        for one in content if field.is_repeated else [content]:
            if field.message_type is None:
                pieces.append(alone(message, field, one))
            else:
                pieces.append(length_delimited(field.number, _with_value(one, value)))
    return b"".join(pieces)


def _walk(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if field.is_repeated else [value]:
                yield from _walk(one)


def _strings(message: Any) -> Iterator[tuple[Any, str]]:
    """Every string that is set, by its message and field."""
    for one in _walk(message):
        for field, _ in one.ListFields():
            if field.type == Field.TYPE_STRING and not field.is_repeated:
                yield one, field.name


def _values(message: Any) -> Iterator[Any]:
    return (one for one in _walk(message) if isinstance(one, AnyValue))


def _attribute_lists(message: Any) -> Iterator[Any]:
    return (one.attributes for one in _walk(message) if hasattr(one, "attributes"))


def _scalar_value(rnd: random.Random) -> AnyValue:
    return rnd.choice(
        (AnyValue(string_value="v"), AnyValue(int_value=7), AnyValue(double_value=0.5), AnyValue())
    )
