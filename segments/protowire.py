"""Protobuf's wire format: reads and frames fields without parsing the messages in them."""

from collections.abc import Iterator

VARINT, FIXED64, LENGTH_DELIMITED, START_GROUP, END_GROUP, FIXED32 = range(6)
_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}
_VARINT_BYTES_MAX = 10
_UINT64_MAX = 2**64 - 1
_SMALL = tuple(bytes((value,)) for value in range(0x80))


class MalformedWire(ValueError):
    """The bytes are not a sequence of protobuf fields."""


def fields(message: bytes, *, has_groups: bool = True) -> Iterator[tuple[int, int, int, int]]:
    """Yield (number, start, content, end) of each field on a message's first level.

    `content` is where the bytes of a length-delimited field begin, and 0 for all other fields.
    A group is one field, however much is in it; without `has_groups` it is malformed. Raises
    MalformedWire.
    """
    position, message_bytes = 0, len(message)
    while position < message_bytes:
        start, tag = position, message[position]
        # Nearly all of millions of fields have a tag and a length of one byte each: no calls.
        if tag & 0x87 == LENGTH_DELIMITED and (
            position + 1 < message_bytes and (length := message[position + 1]) < 0x80
        ):
            content = position + 2
            position = content + length
        else:
            tag, position = read_varint(message, position)
            content = 0
            if tag & 7 == LENGTH_DELIMITED:
                length, content = read_varint(message, position)
                position = content + length
            elif has_groups or tag & 7 != START_GROUP:
                position = _skip_field(message, tag, position)
            else:
                raise MalformedWire("a group where none is expected")
        if position > message_bytes:
            raise MalformedWire("a field is longer than its message")
        yield tag >> 3, start, content, position


def field_end(message: bytes, position: int) -> int:
    """The end of the field that begins at a position, beyond the message if it is cut.

    A group is malformed. Raises MalformedWire.
    """
    tag, position = read_varint(message, position)
    if tag & 7 == START_GROUP:
        raise MalformedWire("a group where none is expected")
    return _skip_field(message, tag, position)


def read_varint(message: bytes, position: int) -> tuple[int, int]:
    """Return a varint and the position after it; raises MalformedWire."""
    value = shift = 0
    try:
        while shift < 7 * _VARINT_BYTES_MAX:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7
    except IndexError:
        raise MalformedWire("a varint ends with its message") from None
    raise MalformedWire(f"a varint has more than {_VARINT_BYTES_MAX} bytes")


def length_prefix(number: int, size_bytes: int) -> bytes:
    """Return tag and length of a length-delimited field with a number below 16."""
    return bytes((number << 3 | LENGTH_DELIMITED,)) + varint(size_bytes)


def varint(value: int) -> bytes:
    """Return an integer of up to 64 bits; a negative one as its two's complement."""
    if 0 <= value < 0x80:
        return _SMALL[value]
    if 0 <= value < 1 << 28:
        # Lengths, sizes and counts, without a list.
        if value < 1 << 14:
            return bytes((value & 0x7F | 0x80, value >> 7))
        if value < 1 << 21:
            return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
        return bytes(
            (value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14 & 0x7F | 0x80, value >> 21)
        )
    value &= _UINT64_MAX
    written = []
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def nanos_varint(nanos: int) -> bytes:
    """Return a varint that is faster for times from 1972 to 2262, in nanoseconds."""
    if not 1 << 56 <= nanos < 1 << 63:
        return varint(nanos)
    return bytes(
        (
            nanos & 0x7F | 0x80,
            nanos >> 7 & 0x7F | 0x80,
            nanos >> 14 & 0x7F | 0x80,
            nanos >> 21 & 0x7F | 0x80,
            nanos >> 28 & 0x7F | 0x80,
            nanos >> 35 & 0x7F | 0x80,
            nanos >> 42 & 0x7F | 0x80,
            nanos >> 49 & 0x7F | 0x80,
            nanos >> 56,
        )
    )


def _skip_field(message: bytes, tag: int, position: int) -> int:
    """Return the end of a field; groups, however deep, cost no stack."""
    groups: list[int] = []
    while True:
        wire_type, number = tag & 7, tag >> 3
        if wire_type == VARINT:
            _, position = read_varint(message, position)
        elif wire_type == LENGTH_DELIMITED:
            length, position = read_varint(message, position)
            position += length
        elif wire_type in _FIXED_BYTES:
            position += _FIXED_BYTES[wire_type]
        elif wire_type == START_GROUP:
            groups.append(number)
        elif wire_type != END_GROUP or not groups or groups.pop() != number:
            raise MalformedWire("a group ends that did not begin, or a wire type is unknown")
        if not groups:
            return position
        tag, position = read_varint(message, position)
