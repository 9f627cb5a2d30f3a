"""Makes OTLP payloads safe to decode: refuses fatal ones, cuts huge ones.

An empty record is 2 bytes of OTLP and 100 to 250 bytes of columns, so a payload of very many
records is cut into payloads that hold some of them each, with the same containers around. And the
columnar decoder recurses into unknown groups without a limit: bytes that nobody has checked yet go
through the official classes first.
"""

from collections.abc import Iterator

from segments.otlp.wire import UndecodableSlice, canonical
from segments.protowire import MalformedWire, fields, length_prefix
from segments.signals import Signal

# About 60 MB of columns if the records are empty.
RECORDS_MAX = 262_144
# Groups nested in fewer bytes leave half of an ordinary stack of 8 MiB.
UNCHECKED_BYTES_MAX = 65_536

_Level = tuple[int, ...]
# Field numbers from the payload down to its records: containers, then log records, spans, or
# metrics, their kinds and the kinds' data points.
_LEVELS: dict[Signal, tuple[_Level, ...]] = {
    "logs": ((1,), (2,), (2,)),
    "traces": ((1,), (2,), (2,)),
    "metrics": ((1,), (2,), (2,), (5, 7, 9, 10, 11), (1,)),
}
# First bytes of the tags of what there can be very many of.
_MANY: dict[Signal, bytes] = {"logs": b"\x12", "traces": b"\x12", "metrics": b"\x12\x0a"}


def records_at_most(signal: Signal, payload: bytes) -> int:
    """A number that the payload's records do not exceed; found without parsing."""
    tags = _MANY[signal]
    # A tag may be written longer than it needs to be, which sets its first byte's highest bit.
    return sum(payload.count(tag) + payload.count(tag | 0x80) for tag in tags)


def cut(
    signal: Signal, payload: bytes, *, is_validated: bool, records_max: int = RECORDS_MAX
) -> Iterator[bytes]:
    """Give the payload as one or more of which none holds more than about twice `records_max`.

    `is_validated` says that the official classes have accepted it. Raises UndecodableSlice at
    once, not while pieces are taken.
    """
    # An element takes two bytes.
    is_small = len(payload) <= 4 * records_max
    if is_small or records_at_most(signal, payload) <= 2 * records_max:
        if not is_validated and len(payload) > UNCHECKED_BYTES_MAX:
            canonical(signal, payload)
        return iter((payload,))
    # All of a payload is refused or none of it. Only metrics have a oneof between the levels.
    for piece in (
        _pieces(signal, payload, records_max) if not is_validated or signal == "metrics" else ()
    ):
        if not is_validated:
            canonical(signal, piece)
    return _pieces(signal, payload, records_max)


def _pieces(signal: Signal, payload: bytes, records_max: int) -> Iterator[bytes]:
    try:
        for piece, _ in _cut(payload, _LEVELS[signal], records_max):
            yield piece
    except MalformedWire as error:
        raise UndecodableSlice(str(error)) from None


def _cut(
    message: bytes, levels: tuple[_Level, ...], elements_max: int
) -> Iterator[tuple[bytes, int]]:
    """Cut one message; answers each piece with the number of elements in it, itself for one."""
    numbers, below = levels[0], levels[1:]
    header = _header(message, numbers)
    piece, count = bytearray(header), 1
    for number, start, content, end in fields(message):
        if number not in numbers or not content:
            continue
        elements = (
            _cut(message[content:end], below, elements_max)
            if below
            else ((message[content:end], 1),)
        )
        for element, size in elements:
            if count > 1 and count + size > elements_max:
                yield bytes(piece), count
                piece, count = bytearray(header), 1
            piece += message[start:content] if not below else length_prefix(number, len(element))
            piece += element
            count += size
    yield bytes(piece), count


def _header(message: bytes, numbers: _Level) -> bytes:
    """The fields that every piece of a message repeats: all but the elements that are cut."""
    kept, elements = bytearray(), 0
    for number, start, content, end in fields(message):
        if number in numbers and content:
            elements += 1
        else:
            kept += message[start:end]
    # A repeated message field is merged by the parser, so its parts cannot be compared one by one.
    if len(numbers) > 1 and elements > 1:
        raise UndecodableSlice("a oneof occurs twice in a payload of very many records")
    return bytes(kept)
