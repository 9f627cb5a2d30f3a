"""Layouts of segments: the promoted columns of a page, each set of them once."""

from collections.abc import Sequence
from dataclasses import dataclass

from meta.services import convert
from meta.store import dataset_layouts
from meta.store.dataset_layouts import PromotedColumnRow
from meta.store.engine import Transaction
from meta.store.segment_rows import SegmentRow
from meta.v1 import common_pb2, segment_lookup_pb2

# Columns of different layouts that one page reads. With more the page ends.
COLUMNS_MAX = 10_000
# The first format whose promoted columns have field ids.
_FORMAT_WITH_IDS = 2
# Tag and length of a field of a message, at most.
_FIELD_BYTES = 6

# The id of a dataset and the field ids of a segment's promoted columns.
_Key = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class PageLayouts:
    """Layouts of a page's segments; `numbers` has each segment's, None where it is not known."""

    layouts: Sequence[segment_lookup_pb2.SegmentLayout]
    numbers: Sequence[int | None]

    def add_to(self, reply: segment_lookup_pb2.FindSegmentsResponse) -> None:
        """Name the layouts of the reply's segments in place of their field ids."""
        reply.layouts.extend(self.layouts)
        for segment, number in zip(reply.segments, self.numbers, strict=True):
            if number is not None:
                segment.layout = number
                segment.facts.ClearField("promoted_field_ids")


def read(
    tx: Transaction, segments: Sequence[SegmentRow], sizes: Sequence[int], bytes_max: int
) -> PageLayouts:
    """Read the layouts of the leading segments that have room; of at least one segment.

    `sizes` are the segments' own bytes, `bytes_max` bounds these and the layouts together.
    """
    keys = _leading(segments)
    wanted = {(key[0], field_id) for key in keys if key for field_id in key[1]}
    columns = dataset_layouts.find_columns(tx, wanted)
    places: dict[_Key, int] = {}
    layouts: list[segment_lookup_pb2.SegmentLayout] = []
    numbers: list[int | None] = []
    size_bytes = 0
    for key, own_bytes in zip(keys, sizes, strict=False):
        size_bytes += own_bytes
        layout = None
        if key is not None and key not in places:
            layout = _layout(key, columns)
            size_bytes += layout.ByteSize() + _FIELD_BYTES
        if size_bytes > bytes_max and numbers:
            break
        if key is not None and layout is not None:
            places[key] = len(layouts)
            layouts.append(layout)
        numbers.append(None if key is None else places[key])
    return PageLayouts(layouts, numbers)


def _leading(segments: Sequence[SegmentRow]) -> list[_Key | None]:
    """The keys of the leading segments whose layouts have at most COLUMNS_MAX columns."""
    keys: list[_Key | None] = []
    known: set[_Key] = set()
    num_columns = 0
    for segment in segments:
        key = _key(segment)
        if key is not None and key not in known:
            known.add(key)
            num_columns += len(key[1])
            if num_columns > COLUMNS_MAX:
                break
        keys.append(key)
    return keys


def _key(segment: SegmentRow) -> _Key | None:
    if not segment.facts:
        return None
    facts = common_pb2.SegmentFacts.FromString(segment.facts)
    if facts.format_version < _FORMAT_WITH_IDS:
        return None
    return segment.dataset_id, tuple(facts.promoted_field_ids)


def _layout(
    key: _Key, columns: dict[tuple[str, int], PromotedColumnRow]
) -> segment_lookup_pb2.SegmentLayout:
    dataset_id, field_ids = key
    layout = segment_lookup_pb2.SegmentLayout()
    for field_id in field_ids:
        column = columns.get((dataset_id, field_id))
        if column is None:
            layout.promoted_columns.add(field_id=field_id)
        else:
            layout.promoted_columns.extend(convert.promoted_messages([column]))
    return layout
