"""Segments as bytes of a reply: what their rows keep, the store's location around the object key.

A message object for each segment costs several times as much. What may change of a segment is
written behind what its row keeps (`meta.store.segments.segments`); the order of fields is free.
"""

from collections.abc import Iterable
from functools import lru_cache

from meta.services.messages import convert
from meta.v1 import common_pb2
from segments.location import StoreLocation
from segments.protowire import FIXED32, LENGTH_DELIMITED, VARINT, length_prefix, read_varint, varint

# The field of segments in both replies of segment_lookup.proto.
_SEGMENTS = 1
_BUCKET, _KEY_PREFIX, _OBJECT_KEY = 1, 1, 7
_CREATED = varint(100 << 3 | VARINT)
_TOMBSTONE = varint(101 << 3 | VARINT)
_FACTS = varint(103 << 3 | LENGTH_DELIMITED)
_CRC32C = varint(104 << 3 | FIXED32)
_LAYOUT = varint(105 << 3 | VARINT)
_FOREIGN = varint(106 << 3 | LENGTH_DELIMITED)
# The first format whose promoted columns have field ids.
_FORMAT_WITH_IDS = 2
# Tags and lengths of a segment and around its bucket, and its layout, at most.
FRAME_BYTES = 30
# Frames differ by lengths alone; a page has a few dozen of them.
_FRAMES_MAX = 10_000
_LOW = [varint(128 + number)[:1] for number in range(128)]
_high = lru_cache(4_096)(varint)
_layout_number = lru_cache(4_096)(lambda number: _LAYOUT + varint(number))


class SegmentFrames:
    """Writes segments into a reply; of one location, for all threads."""

    def __init__(self, location: StoreLocation) -> None:
        bucket = convert.bucket(location).SerializeToString()
        # Tag, length and bytes of the location in a segment.
        self.bucket = length_prefix(_BUCKET, len(bucket)) + bucket
        self._frames: dict[tuple[int, int, int], bytes] = {}

    @property
    def bucket_bytes(self) -> int:
        """The length of the location in a segment."""
        return len(self.bucket)

    def join(self, segments: Iterable[tuple[bytes, bytes, int | None]]) -> bytes:
        """The field of a reply that holds segments: each a row's message, its tail, its layout."""
        parts: list[bytes] = []
        frames = self._frames
        for message, tail, layout in segments:
            if layout is not None:
                tail += _layout_number(layout)
            # Prefix and name are the first two fields; their lengths take a byte as a rule.
            prefix_length = message[1]
            name_length = message[prefix_length + 3] if prefix_length < 128 else 128
            lengths = (len(message) + len(tail), prefix_length, name_length)
            frame = frames.get(lengths)
            if frame is None:
                frame = self._frame(message, len(tail))
                if prefix_length < 128 and name_length < 128:
                    if len(frames) >= _FRAMES_MAX:
                        frames.clear()
                    frames[lengths] = frame
            parts += (frame, message, tail)
        return b"".join(parts)

    def _frame(self, message: bytes, tail_bytes: int) -> bytes:
        """All that stands in front of a row's message: tags and lengths, and the bucket."""
        length, start = read_varint(message, 1)
        prefix_end = start + length
        length, start = read_varint(message, prefix_end + 1)
        name_end = start + length
        prefix = length_prefix(_KEY_PREFIX, len(self.bucket) + prefix_end) + self.bucket
        key = length_prefix(_OBJECT_KEY, len(prefix) + name_end) + prefix
        return length_prefix(_SEGMENTS, len(key) + len(message) + tail_bytes) + key


def tail(
    created_version: int,
    tombstone_version: int | None,
    facts: bytes | None,
    crc32c: int | None,
    foreign_file: bytes | None = None,
) -> bytes:
    """The fields of a segment that its row's message does not hold; `facts` as they are shown."""
    written = _CREATED + (
        _LOW[created_version & 127] + _high(created_version >> 7)
        if created_version > 127
        else varint(created_version)
    )
    if tombstone_version is not None:
        written += _TOMBSTONE + varint(tombstone_version)
    if facts:
        written += _FACTS + _high(len(facts)) + facts
    if crc32c is not None:
        written += _CRC32C + crc32c.to_bytes(4, "little")
    if foreign_file:
        written += _FOREIGN + varint(len(foreign_file)) + foreign_file
    return written


def split_facts(facts: bytes) -> tuple[bytes, bytes | None]:
    """Facts without the ids of promoted columns, and these as a field of their own.

    The ids are None in formats that have none, b"" where there are none.
    """
    # format_version, signals and ids, all of one byte's length, as nearly all facts are.
    size = len(facts)
    if size > 1 and facts[0] == 0x08 and _FORMAT_WITH_IDS <= facts[1] < 128:
        at = 2
        while at + 1 < size and facts[at] == 0x12 and facts[at + 1] < 128:
            at += 2 + facts[at + 1]
        if at == size:
            return facts, b""
        if at + 1 < size and facts[at] == 0x1A and facts[at + 1] == size - at - 2 < 128:
            return facts[:at], facts[at:]
    message = common_pb2.SegmentFacts.FromString(facts)
    if message.format_version < _FORMAT_WITH_IDS:
        return facts, None
    ids = common_pb2.SegmentFacts(promoted_field_ids=message.promoted_field_ids)
    message.ClearField("promoted_field_ids")
    return message.SerializeToString(), ids.SerializeToString()
