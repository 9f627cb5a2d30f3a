"""Layouts of segments: the promoted columns of a page, each set of them once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from meta.commits.transactions import Transactions
from meta.services.messages import convert
from meta.store.catalog import dataset_layouts
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.engine.timelines import VERSION_JUMP
from meta.v1 import common_pb2, segment_lookup_pb2

# Columns of different layouts that one page reads; a page ends before it would read more.
COLUMNS_MAX = 10_000
# Tag and length of a field of a message, at most.
_FIELD_BYTES = 6
# Layouts that a server remembers.
_LAYOUTS_MAX = 10_000

# The key of a dataset, and SegmentFacts with nothing but the ids of a segment's promoted columns.
Key: TypeAlias = tuple[int, bytes]


def size_bytes(layouts: Iterable[segment_lookup_pb2.SegmentLayout]) -> int:
    """The bytes of layouts in a reply, at most."""
    return sum(layout.ByteSize() + _FIELD_BYTES for layout in layouts)


class KnownLayouts:
    """Layouts whose columns are all known: these keep their field ids permanently.

    But for a restored database, whose counter has jumped: see `meta.store.engine.timelines`.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, Key], segment_lookup_pb2.SegmentLayout] = {}

    def find(
        self,
        transactions: Transactions,
        keys: Sequence[Key],
        dataset_id: Callable[[Key], str],
        counter: int,
    ) -> list[segment_lookup_pb2.SegmentLayout]:
        """The layouts of the leading keys that have COLUMNS_MAX columns together, of one at least.

        The keys differ.
        """
        history = counter // VERSION_JUMP
        layouts = {key: self._known.get((history, key)) for key in keys}
        missing: dict[Key, Sequence[int]] = {}
        leading: list[Key] = []
        num_columns = 0
        for key, layout in layouts.items():
            if layout is None:
                missing[key] = common_pb2.SegmentFacts.FromString(key[1]).promoted_field_ids
                num_columns += len(missing[key])
            else:
                num_columns += len(layout.promoted_columns)
            if num_columns > COLUMNS_MAX and leading:
                missing.pop(key, None)
                break
            leading.append(key)
        if missing:
            new = self._read(transactions, missing, dataset_id)
            self._remember(history, new)
            layouts |= new
        return [layout for key in leading if (layout := layouts[key]) is not None]

    @staticmethod
    def _read(
        transactions: Transactions,
        keys: Mapping[Key, Sequence[int]],
        dataset_id: Callable[[Key], str],
    ) -> dict[Key, segment_lookup_pb2.SegmentLayout]:
        datasets = {key: dataset_id(key) for key in keys}
        pairs = {(datasets[key], field_id) for key, ids in keys.items() for field_id in ids}
        columns = transactions.read(lambda tx: dataset_layouts.find_columns(tx, pairs))
        return {key: _layout(datasets[key], ids, columns) for key, ids in keys.items()}

    def _remember(self, history: int, new: Mapping[Key, segment_lookup_pb2.SegmentLayout]) -> None:
        if len(self._known) + len(new) > _LAYOUTS_MAX:
            self._known.clear()
        for key, layout in new.items():
            if all(column.name for column in layout.promoted_columns):
                self._known[history, key] = layout


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
