"""Segments as bytes of a reply, around the messages that their rows keep.

A row keeps the part of its segment's message that never changes (`meta.store.segments.segments`).
The rest is put around it as bytes, without a message object for each segment. Three pieces are a
field of the reply:

    segments {
      cloud_object_key { prefix { bucket }}     head: of the store, with the lengths of all
      - - - - - - - - - - - - - - - - - - -
        prefix, key                             message: kept by the row; its first two fields
      id, time_range, sizes, dataset_id, ...             end the object key that the head begins
      - - - - - - - - - - - - - - - - - - -
      created_version, facts, layout,           rest: what is drawn after the message is written,
      tombstone_version, crc32c, foreign                or may change
    }
"""

from collections.abc import Iterable
from functools import lru_cache

from meta.errors import Unavailable
from meta.services.messages import convert
from meta.store.lookup.page_parts import SegmentColumns
from segments.keys import FOLDER, FOLDER_AT, store_folder
from segments.location import StoreLocation, Stores
from segments.protowire import (
    FIXED32,
    LENGTH_DELIMITED,
    VARINT,
    field_end,
    length_prefix,
    read_varint,
    varint,
)

# Pieces of a segment that is encoded.
PIECES = 3
# Tags of SegmentInfo and of SegmentFacts.
_CREATED, _TOMBSTONE, _LAYOUT = (varint(n << 3 | VARINT) for n in (100, 101, 105))
_FACTS, _FOREIGN = (varint(n << 3 | LENGTH_DELIMITED) for n in (103, 106))
_CRC32C = varint(104 << 3 | FIXED32)
_FORMAT_VERSION, _SIGNALS = 1 << 3 | VARINT, 2 << 3 | LENGTH_DELIMITED
# Fields of both replies, of SegmentInfo, CloudObjectKey and CloudObjectPrefix.
_SEGMENTS, _OBJECT_KEY, _PREFIX, _BUCKET = 1, 7, 1, 1
_FORMAT_WITH_IDS = 2
_FOLDER = FOLDER.encode()


class SegmentEncoder:
    """Encodes segments in a server's stores; for all threads."""

    def __init__(self, stores: Stores) -> None:
        self._default = _bucket_field(stores.default)
        # By the folder that names the store in keys.
        self._named = {
            store_folder(name).rstrip("/").encode(): _bucket_field(location)
            for name, location in stores.named_stores
        }

    def encode(self, columns: SegmentColumns, endings: Iterable[bytes]) -> list[bytes]:
        """Three pieces of a reply for each segment; the last one has its ending (`facts_field`)."""
        pieces: list[bytes] = []
        bucket = self._default
        for message, created_version, tombstone_version, crc32c, foreign_file, ending in zip(
            *columns[:-1], endings, strict=False
        ):
            # The first fields are the prefix and the name of the object's key.
            length = message[1]
            prefix_end = length + 2 if length < 128 else field_end(message, 0)
            length = message[prefix_end + 1]
            key_end = prefix_end + length + 2 if length < 128 else field_end(message, prefix_end)
            if self._named:
                bucket = self._bucket_of(message, prefix_end)
            numbers = _tagged(_CREATED, created_version) + ending
            if tombstone_version is not None:
                numbers += _tagged(_TOMBSTONE, tombstone_version)
            if crc32c is not None:
                numbers += _CRC32C + crc32c.to_bytes(4, "little")
            if foreign_file:
                numbers += _tagged(_FOREIGN, len(foreign_file)) + foreign_file
            head = _head(bucket, prefix_end, key_end, len(message) + len(numbers))
            pieces += (head, message, numbers)
        return pieces

    def _bucket_of(self, message: bytes, prefix_end: int) -> bytes:
        """The bucket of a key; raises Unavailable if only other servers know its store."""
        # Behind the prefix's tag and length. Each output of a merge has another prefix, so a cache
        # would not help, and bytes are compared in place.
        folder_at = FOLDER_AT + (2 if message[1] < 128 else 3)
        if not message.startswith(_FOLDER, folder_at):
            return self._default
        folder = message[folder_at:prefix_end].partition(b"/")[0]
        if folder not in self._named:
            raise Unavailable(f"object folder {folder.decode()!r} is of no store of this server")
        return self._named[folder]


@lru_cache(maxsize=4_096)
def _head(bucket: bytes, prefix_end: int, key_end: int, size_bytes: int) -> bytes:
    """The first piece of a segment: `size_bytes` are those of the other two."""
    prefix = length_prefix(_PREFIX, len(bucket) + prefix_end) + bucket
    key = length_prefix(_OBJECT_KEY, len(prefix) + key_end) + prefix
    return length_prefix(_SEGMENTS, len(key) + size_bytes) + key


# The newest versions are asked for again and again.
@lru_cache(maxsize=65_536)
def _tagged(tag: bytes, number: int) -> bytes:
    """A tag with the number or the length behind it."""
    return tag + varint(number)


def facts_field(facts: bytes) -> bytes:
    """The facts at the end of a segment; the number of their layout may follow."""
    return _tagged(_FACTS, len(facts)) + facts


def layout_field(number: int) -> bytes:
    """The number of a segment's layout."""
    return _LAYOUT + varint(number)


def ids_start(facts: bytes) -> int | None:
    """The place of the ids of promoted columns in facts; None for a format that has no ids."""
    if len(facts) < 2 or facts[0] != _FORMAT_VERSION or facts[1] < _FORMAT_WITH_IDS:
        return None
    at = 2 if facts[1] < 128 else read_varint(facts, 1)[1]
    while at < len(facts) and facts[at] == _SIGNALS:
        length = facts[at + 1]
        at = at + length + 2 if length < 128 else field_end(facts, at)
    return at


def _bucket_field(location: StoreLocation) -> bytes:
    bucket = convert.bucket(location).SerializeToString()
    return length_prefix(_BUCKET, len(bucket)) + bucket
