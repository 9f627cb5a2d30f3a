"""Random OTLP messages, ordinary and hostile, and the many ways to write one on the wire."""

import random
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field

TEXTS = (
    "",
    "a",
    "service.name",
    'quo"te',
    "back\\slash",
    "\n\x00\x1f\x7f",
    "é",
    "\U0001f600\u2028",
)
INTS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)
DOUBLES = (0.0, -0.0, 3.0, 0.1, 1e16, 1e300, 5e-324, float("nan"), float("inf"), float("-inf"))
TIMES = (0, 1, 1_700_000_000_000_000_000, 2**63 - 1, 2**63, 2**64 - 1)
BYTES = (b"", b"\0" * 16, b"\xff\x01", bytes(range(8)), bytes(range(16)))

_LENGTH_DELIMITED = (Field.TYPE_STRING, Field.TYPE_BYTES)
_FIXED32 = (Field.TYPE_FIXED32, Field.TYPE_SFIXED32, Field.TYPE_FLOAT)
_WIRE_TYPE = {Field.TYPE_FIXED64: 1, Field.TYPE_SFIXED64: 1, Field.TYPE_DOUBLE: 1}

# Unknown fields: varint, text, fixed32, fixed64, and a group with a field inside.
UNKNOWN = (
    b"\xf8\x07\x05",
    b"\xfa\x07\x03abc",
    b"\xfd\x07\x01\x02\x03\x04",
    b"\xf9\x07\x01\x02\x03\x04\x05\x06\x07\x08",
    b"\xfb\x07\x08\x01\xfc\x07",
)


def fill(message: Any, rnd: random.Random, depth: int = 0) -> Any:
    """Set random fields of a message, nested ones included, to ordinary and hostile values."""
    for field in _chosen(message, rnd, 0.3 if depth > 2 else 0.1):
        if field.message_type is None:
            if field.is_repeated:
                getattr(message, field.name).extend(
                    scalar(field, rnd) for _ in range(rnd.randrange(3))
                )
            else:
                setattr(message, field.name, scalar(field, rnd))
        elif field.is_repeated:
            for _ in range(_length(rnd, depth)):
                fill(getattr(message, field.name).add(), rnd, depth + 1)
        else:
            member = getattr(message, field.name)
            member.SetInParent()
            fill(member, rnd, depth + 1)
    return message


def _length(rnd: random.Random, depth: int) -> int:
    # Few messages without any record, and an end to values within values.
    if depth < 3:
        return rnd.choice((0, 1, 1, 1, 2, 2, 2, 3))
    return rnd.randrange(4 if depth < 8 else 2)


def _chosen(message: Any, rnd: random.Random, skipped: float) -> Iterator[Field]:
    taken = set()
    fields = list(message.DESCRIPTOR.fields)
    rnd.shuffle(fields)
    for field in fields:
        oneof = field.containing_oneof
        if rnd.random() < skipped or (oneof is not None and oneof.name in taken):
            continue
        if oneof is not None:
            taken.add(oneof.name)
        yield field


def scalar(field: Field, rnd: random.Random) -> Any:
    """A value for a scalar field."""
    if field.type == Field.TYPE_STRING:
        return rnd.choice(TEXTS)
    if field.type == Field.TYPE_BYTES:
        return rnd.choice(BYTES)
    if field.type == Field.TYPE_DOUBLE:
        return rnd.choice(DOUBLES)
    if field.type == Field.TYPE_BOOL:
        return rnd.random() < 0.5
    if field.name.endswith("time_unix_nano"):
        return rnd.choice(TIMES)
    bits = 64 if field.cpp_type in (Field.CPPTYPE_INT64, Field.CPPTYPE_UINT64) else 32
    unsigned = field.cpp_type in (Field.CPPTYPE_UINT64, Field.CPPTYPE_UINT32)
    low, high = (0, 2**bits) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return rnd.choice([i for i in INTS if low <= i < high])


def dirty(message: Any, rnd: random.Random) -> bytes:
    """Write a message as a strange but legal sender might.

    Fields in any order, fields and oneofs that occur again, packed lists in pieces or not packed,
    longer varints than needed, unknown fields and groups in between.
    """
    pieces: list[bytes] = []
    for field, value in message.ListFields():
        values = value if field.is_repeated else [value]
        pieces.extend(_piece(message, field, one, rnd) for one in values)
        if rnd.random() < 0.1:
            other = fill(type(message)(), rnd, depth=9)
            pieces.extend(
                _piece(other, f, v, rnd) for f, v in other.ListFields() if not f.is_repeated
            )
    if rnd.random() < 0.1:
        pieces.append(rnd.choice(UNKNOWN))
    if rnd.random() < 0.05 and message.DESCRIPTOR.fields:
        pieces.append(_of_another_type(rnd.choice(list(message.DESCRIPTOR.fields))))
    rnd.shuffle(pieces)
    return b"".join(pieces)


def _of_another_type(field: Field) -> bytes:
    """A field of ours with a wire type that it has not: counts as unknown."""
    has_length = field.message_type is not None or field.type in _LENGTH_DELIMITED
    if has_length or field.type in _FIXED32:
        return varint(field.number << 3) + b"\x05"
    return varint(field.number << 3 | 5) + b"\x01\x02\x03\x04"


def _piece(message: Any, field: Field, value: Any, rnd: random.Random) -> bytes:
    if field.message_type is not None:
        return length_delimited(field.number, dirty(value, rnd))
    piece = alone(message, field, value)
    if field.is_packed and piece and rnd.random() < 0.3:
        # The value alone, after the tag and a length of one byte.
        tag = varint(field.number << 3 | _WIRE_TYPE.get(field.type, 0))
        return tag + piece[len(tag) + 1 :]
    if piece and field.number < 16 and rnd.random() < 0.02:
        return bytes((piece[0] | 0x80, 0x80, 0)) + piece[1:]
    return piece


def alone(message: Any, field: Field, value: Any) -> bytes:
    """One scalar on the wire, as the official classes write it."""
    holder = type(message)()
    if field.is_repeated:
        getattr(holder, field.name).append(value)
    else:
        setattr(holder, field.name, value)
    return bytes(holder.SerializeToString())


def length_delimited(number: int, body: bytes) -> bytes:
    """One length-delimited field on the wire."""
    return tagged(number << 3 | 2, body)


def tagged(tag: int, body: bytes) -> bytes:
    """A tag of any wire type before the body and its length."""
    return varint(tag) + varint(len(body)) + body


def varint(number: int) -> bytes:
    """A whole number on the wire."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def mutate(payload: bytes, rnd: random.Random) -> bytes:
    """Damage a payload: flip, cut, insert or repeat some of it."""
    body = bytearray(payload)
    for _ in range(rnd.randint(1, 3)):
        at = rnd.randrange(len(body) + 1)
        match rnd.randrange(4):
            case 0 if at < len(body):
                body[at] ^= 1 << rnd.randrange(8)
            case 1:
                del body[at:]
            case 2:
                body[at:at] = rnd.randbytes(rnd.randint(1, 4))
            case _:
                body[at:at] = body[at : at + rnd.randint(1, 40)]
    return bytes(body)
