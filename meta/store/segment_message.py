"""The unchanging part of a segment's message, in protobuf's wire format, as a row keeps it.

A page of segments is put together from these bytes, without a message object for each. They hold
the fields of `meta.v1.SegmentInfo` that are fixed when a segment is registered, but for its
version, which is drawn later, and the store's location, which belongs to the server. The first two
fields are those of its object key, prefix and name, because the location stands around them.
"""

from uuid import UUID

from segments.protowire import LENGTH_DELIMITED, VARINT, varint

# Numbers of CloudObjectPrefix.prefix and CloudObjectKey.key.
PREFIX, NAME = 2, 2
_ID, _TIME_RANGE, _SIZE, _COMPRESSED, _EVENTS, _DATASET, _MERGE_COUNT = 1, 2, 3, 4, 5, 6, 102
_START, _END = 1, 2
# Made once: a batch of registrations writes thousands of fields.
_TEXT_TAGS = {n: varint(n << 3 | LENGTH_DELIMITED) for n in (PREFIX, _TIME_RANGE, _ID, _DATASET)}
_NUMBER_TAGS = {
    n: varint(n << 3 | VARINT) for n in (_START, _END, _SIZE, _COMPRESSED, _EVENTS, _MERGE_COUNT)
}


def write(
    segment_id: UUID | str,
    dataset_id: UUID | str,
    times: tuple[int, int],
    sizes: tuple[int, int, int],
    key: tuple[str, str],
    merge_count: int,
) -> bytes:
    """The bytes of a segment; times in nanoseconds, both ends inclusive.

    `sizes` are bytes, compressed bytes and events; `key` is the prefix and the name of its object.
    """
    prefix, name = key
    size_bytes, compressed_size_bytes, number_of_events = sizes
    return b"".join(
        (
            _text(PREFIX, prefix.rstrip("/")),
            _text(NAME, name),
            _text(_ID, str(segment_id)),
            _bytes(_TIME_RANGE, _number(_START, times[0]) + _number(_END, times[1])),
            _number(_SIZE, size_bytes),
            _number(_COMPRESSED, compressed_size_bytes),
            _number(_EVENTS, number_of_events),
            _text(_DATASET, str(dataset_id)),
            _number(_MERGE_COUNT, merge_count),
        )
    )


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _TEXT_TAGS[field] + varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    # Zero is what an absent number means.
    return _NUMBER_TAGS[field] + varint(value) if value else b""
