"""Layouts of segments: the promoted columns of a page, each set of them once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from meta.commits.transactions import Transactions
from meta.services.messages import convert
from meta.store.catalog import dataset_layouts
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.engine.pool import Transaction
from meta.store.engine.timelines import VERSION_JUMP
from meta.v1 import common_pb2, segment_lookup_pb2

# Columns of different layouts that one page reads. With more the page ends.
COLUMNS_MAX = 10_000
# Tag and length of a field of a message, at most.
_FIELD_BYTES = 6

# Layouts that a server remembers.
_LAYOUTS_MAX = 10_000
_NO_BOUND = 2**62

# The id of a dataset, and SegmentFacts with nothing but the ids of a segment's promoted columns.
Key: TypeAlias = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class PageLayouts:
    """Layouts of a page's segments; `numbers` has each segment's, None where it is not known."""

    layouts: Sequence[segment_lookup_pb2.SegmentLayout]
    numbers: Sequence[int | None]


def read(
    tx: Transaction, keys: Sequence[Key | None], sizes: Sequence[int], bytes_max: int
) -> PageLayouts:
    """Read the layouts of the leading segments that have room; of at least one segment.

    `keys` are those of the segments, None where the layout is not known. `sizes` are the segments'
    own bytes, `bytes_max` bounds these and the layouts together.
    """
    field_ids = {
        key: tuple(common_pb2.SegmentFacts.FromString(key[1]).promoted_field_ids)
        for key in dict.fromkeys(keys)
        if key is not None
    }
    keys = _leading(keys, field_ids)
    leading_ids = {key: field_ids[key] for key in dict.fromkeys(keys) if key is not None}
    columns = dataset_layouts.find_columns(
        tx, {(key[0], field_id) for key, ids in leading_ids.items() for field_id in ids}
    )
    made = {key: _layout(key[0], ids, columns) for key, ids in leading_ids.items()}
    if sum(sizes[: len(keys)]) + size_bytes(made.values()) <= bytes_max:
        # Nearly always: nothing is left out.
        numbers_of: dict[Key | None, int] = {key: number for number, key in enumerate(made)}
        return PageLayouts(list(made.values()), list(map(numbers_of.get, keys)))
    return _cut(keys, sizes, made, bytes_max)


def size_bytes(layouts: Iterable[segment_lookup_pb2.SegmentLayout]) -> int:
    """The bytes of layouts in a reply, at most."""
    return sum(layout.ByteSize() + _FIELD_BYTES for layout in layouts)


class KnownLayouts:
    """Layouts whose columns are all known: these keep their field ids for good.

    But for a restored database, whose counter has jumped: see `meta.store.engine.timelines`.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, Key], segment_lookup_pb2.SegmentLayout] = {}

    def find(
        self, transactions: Transactions, keys: Sequence[Key], counter: int
    ) -> list[segment_lookup_pb2.SegmentLayout] | None:
        """The layouts of distinct keys; None where they have more columns than a page may."""
        history = counter // VERSION_JUMP
        found = {key: self._known.get((history, key)) for key in keys}
        missing = [key for key, layout in found.items() if layout is None]
        if missing:
            sizes = [0] * len(missing)
            page = transactions.read(lambda tx: read(tx, missing, sizes, _NO_BOUND))
            if len(page.numbers) < len(missing):
                return None
            new = dict(zip(missing, page.layouts, strict=True))
            found |= new
            self._remember(history, new)
        layouts = [layout for layout in found.values() if layout is not None]
        num_columns = sum(len(layout.promoted_columns) for layout in layouts)
        return layouts if num_columns <= COLUMNS_MAX else None

    def _remember(self, history: int, new: Mapping[Key, segment_lookup_pb2.SegmentLayout]) -> None:
        if len(self._known) + len(new) > _LAYOUTS_MAX:
            self._known.clear()
        for key, layout in new.items():
            if all(column.name for column in layout.promoted_columns):
                self._known[history, key] = layout


def _cut(
    keys: Sequence[Key | None],
    sizes: Sequence[int],
    made: Mapping[Key, segment_lookup_pb2.SegmentLayout],
    bytes_max: int,
) -> PageLayouts:
    """The layouts of the leading segments that have room; of at least one segment."""
    places: dict[Key, int] = {}
    layouts: list[segment_lookup_pb2.SegmentLayout] = []
    numbers: list[int | None] = []
    size_bytes = 0
    for key, own_bytes in zip(keys, sizes, strict=False):
        size_bytes += own_bytes
        layout = None
        if key is not None and key not in places:
            layout = made[key]
            size_bytes += layout.ByteSize() + _FIELD_BYTES
        if size_bytes > bytes_max and numbers:
            break
        if key is not None and layout is not None:
            places[key] = len(layouts)
            layouts.append(layout)
        numbers.append(None if key is None else places[key])
    return PageLayouts(layouts, numbers)


def _leading(
    keys: Sequence[Key | None], field_ids: Mapping[Key, Sequence[int]]
) -> Sequence[Key | None]:
    """The leading keys whose layouts have at most COLUMNS_MAX columns."""
    if sum(map(len, field_ids.values())) <= COLUMNS_MAX:
        return keys
    known: set[Key] = set()
    num_columns = 0
    for place, key in enumerate(keys):
        if key is not None and key not in known:
            known.add(key)
            num_columns += len(field_ids[key])
            if num_columns > COLUMNS_MAX:
                return keys[:place]
    return keys


def _layout(
    dataset_id: str,
    field_ids: Sequence[int],
    columns: Mapping[tuple[str, int], PromotedColumnRow],
) -> segment_lookup_pb2.SegmentLayout:
    layout = segment_lookup_pb2.SegmentLayout()
    for field_id in field_ids:
        column = columns.get((dataset_id, field_id))
        if column is None:
            layout.promoted_columns.add(field_id=field_id)
        else:
            layout.promoted_columns.extend(convert.promoted_messages([column]))
    return layout
