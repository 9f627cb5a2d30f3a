"""The unchanging part of a segment's message, in protobuf's wire format, as a row keeps it.

A page of segments is put together from these bytes, without a message object for each. They hold
the fields of `meta.v1.SegmentInfo` that are fixed when a segment is registered, but for its
version, which is drawn later, and the store's location, which belongs to the server. The first two
fields are those of its object key, prefix and name, because the location stands around them.
"""

from functools import lru_cache
from uuid import UUID

from segments.protowire import LENGTH_DELIMITED, VARINT, nanos_varint, varint

# Numbers of CloudObjectPrefix.prefix and CloudObjectKey.key.
PREFIX, NAME = 2, 2
_ID, _TIME_RANGE, _SIZE, _COMPRESSED, _EVENTS, _DATASET, _MERGE_COUNT = 1, 2, 3, 4, 5, 6, 102
_START, _END = 1, 2
# Made once: a batch of registrations writes thousands of fields.
_PREFIX_TAG, _NAME_TAG, _ID_TAG, _TIME_RANGE_TAG, _DATASET_TAG = (
    varint(n << 3 | LENGTH_DELIMITED) for n in (PREFIX, NAME, _ID, _TIME_RANGE, _DATASET)
)
_START_TAG, _END_TAG, _SIZE_TAG, _COMPRESSED_TAG, _EVENTS_TAG, _MERGE_COUNT_TAG = (
    varint(n << 3 | VARINT) for n in (_START, _END, _SIZE, _COMPRESSED, _EVENTS, _MERGE_COUNT)
)


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
    size_bytes, compressed_size_bytes, number_of_events = sizes
    start_ns, end_ns = times
    name, own_id = key[1].encode(), str(segment_id).encode()
    # Zero is what an absent number means.
    range_bytes = (_START_TAG + nanos_varint(start_ns) if start_ns else b"") + (
        _END_TAG + nanos_varint(end_ns) if end_ns else b""
    )
    return b"".join(
        (
            _prefix_field(key[0]),
            _NAME_TAG,
            varint(len(name)),
            name,
            _ID_TAG,
            varint(len(own_id)),
            own_id,
            _TIME_RANGE_TAG,
            varint(len(range_bytes)),
            range_bytes,
            _SIZE_TAG + varint(size_bytes) if size_bytes else b"",
            _COMPRESSED_TAG + varint(compressed_size_bytes) if compressed_size_bytes else b"",
            _EVENTS_TAG + varint(number_of_events) if number_of_events else b"",
            _dataset_field(dataset_id),
            _MERGE_COUNT_TAG + varint(merge_count) if merge_count else b"",
        )
    )


# The same datasets come again and again, and so do the prefixes of their objects.
@lru_cache(maxsize=4_096)
def _prefix_field(prefix: str) -> bytes:
    value = prefix.rstrip("/").encode()
    return _PREFIX_TAG + varint(len(value)) + value


@lru_cache(maxsize=4_096)
def _dataset_field(dataset_id: UUID | str) -> bytes:
    value = str(dataset_id).encode()
    return _DATASET_TAG + varint(len(value)) + value
