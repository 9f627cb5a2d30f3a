"""Reads a whole object and compares it with its recorded size and checksum."""

import contextlib
import errno
from collections.abc import Callable
from dataclasses import dataclass

from segments.baby import decode_baby
from segments.checksums import checksum_of
from segments.errors import CorruptObject, ObjectMissing, StoreUnavailable
from segments.keys import BabyKey, parse_key
from segments.store.interface import ObjectStore

_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class KnownObject:
    """Known facts of an object; size 0 and checksum None = not known."""

    key: str
    size_bytes: int
    crc32c: int | None


@dataclass(frozen=True, slots=True)
class ObjectReading:
    """Outcome of one read of an object; damage "" = the object is sound."""

    size_bytes: int
    crc32c: int
    damage: str


def check_object(
    store: ObjectStore,
    expected: KnownObject,
    *,
    read_pages: bool,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> ObjectReading:
    """Read an object, and once more from the start if the first read found damage.

    Damage on the way to us must not count. `on_bytes` is called after each block with its size.
    `read_pages` also decodes the content: every page of a segment, a baby's messages. Without
    it that is done for a baby whose checksum is not known. Raises StoreError if the store
    gives no answer: that proves nothing.
    """
    reading = _read(store, expected, on_bytes, read_pages=read_pages)
    if reading.damage:
        reading = _read(store, expected, on_bytes, read_pages=read_pages)
    return reading


def _read(
    store: ObjectStore, expected: KnownObject, on_bytes: Callable[[int], None], *, read_pages: bool
) -> ObjectReading:
    try:
        body = _Body(store, expected.key, on_bytes)
        damage = _differs(expected, body)
        if not damage and (read_pages or expected.crc32c is None):
            _read_content(store, expected.key, body, read_pages=read_pages)
    except ObjectMissing:
        return ObjectReading(0, 0, "the object is missing")
    except CorruptObject as error:
        return ObjectReading(body.size_bytes, body.crc32c, f"its content cannot be read: {error}")
    except OSError as error:
        if error.errno != errno.EIO:
            raise StoreUnavailable(f"{expected.key} cannot be read: {error}") from error
        return ObjectReading(0, 0, f"the disk cannot read it: {error}")
    return ObjectReading(body.size_bytes, body.crc32c, damage)


class _Body:
    """Size, checksum and ends of an object, read in blocks; of a baby all of its bytes."""

    def __init__(self, store: ObjectStore, key: str, on_bytes: Callable[[int], None]) -> None:
        self.is_baby = isinstance(parse_key(key), BabyKey)
        self.first = self.last = b""
        blocks: list[bytes] = []

        def add(block: bytes) -> None:
            self.first = self.first or block[:4]
            self.last = (self.last + block[-4:])[-4:]
            if self.is_baby:
                blocks.append(block)
            on_bytes(len(block))

        with store.open_input(key) as source:
            self.crc32c, self.size_bytes = checksum_of(source, add)
        self.baby = b"".join(blocks)


def _differs(expected: KnownObject, body: _Body) -> str:
    if expected.size_bytes and body.size_bytes != expected.size_bytes:
        return f"it has {body.size_bytes} bytes, {expected.size_bytes} are registered"
    if expected.crc32c is not None and body.crc32c != expected.crc32c:
        return f"its CRC-32C is {body.crc32c:08x}, {expected.crc32c:08x} is registered"
    return ""


def _read_content(store: ObjectStore, key: str, body: _Body, *, read_pages: bool) -> None:
    """Decode an object's content; raises CorruptObject."""
    if body.is_baby:
        decode_baby(body.baby)
    elif not body.first == body.last == _PARQUET_MAGIC:
        raise CorruptObject("it does not begin and end as a Parquet file does")
    elif read_pages:
        _read_pages(store, key)


def _read_pages(store: ObjectStore, key: str) -> None:
    # pyarrow is not part of the janitor's install.
    from segments.foreign.opening import check_pages, claims_to_be_segment
    from segments.parquet.reader import SegmentFile

    if not claims_to_be_segment(lambda: store.open_input(key)):
        # A client registered it; meta knows whether its rows can be mapped.
        check_pages(lambda: store.open_input(key))
        return
    with contextlib.closing(SegmentFile(store.open_input(key))) as segment:
        segment.read_all()
