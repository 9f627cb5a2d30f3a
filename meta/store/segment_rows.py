"""The row of a registered segment, and the columns that every statement reads it from."""

from typing import NamedTuple


class SegmentRow(NamedTuple):
    """A registered segment; without a tombstone_version it is live.

    Times are nanoseconds, both ends inclusive. A tuple with ids as text, because a page of segments
    has thousands.
    """

    id: str
    dataset_id: str
    start_ns: int
    end_ns: int
    size_bytes: int
    compressed_size_bytes: int
    number_of_events: int
    prefix: str
    object_name: str
    created_version: int
    tombstone_version: int | None
    merge_count: int
    # A serialized SegmentFacts; None where its writer did not say, b"" if its footer does not
    # say either.
    facts: bytes | None = None
    # CRC-32C of the object; None while it is not known.
    crc32c: int | None = None


# The columns of table `segments`.
STORED_COLUMNS = ", ".join(name for name in SegmentRow._fields if name != "dataset_id")
_AS_TEXT = {"id": "s.id::text", "dataset_id": "d.id::text"}
# The row's values, from a segment `s` and its dataset `d`.
ROW_COLUMNS = ", ".join(_AS_TEXT.get(name, f"s.{name}") for name in SegmentRow._fields)
NUM_COLUMNS = len(SegmentRow._fields)
