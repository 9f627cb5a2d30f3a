"""The streaming merge itself: sorted sources of record batches in, sorted tables out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from segments.errors import CorruptObject
from segments.parquet.sorting import compact, is_sorted, sort_by

# Bound of a column of a batch; a whole row group's dictionary can be a megabyte.
DICTIONARY_BYTES_MAX = 16 * 1024
# Used up before their rows are sorted: more sort more rows in a call, and take more memory.
BLOCK_BATCHES = 8

# One key column of one row, comparable within its column: numbers and text, then NaN, then null.
KeyPart = tuple[int, Any]
Key = tuple[KeyPart, ...]

_NAN: KeyPart = (1, 0)
_NULL: KeyPart = (2, 0)


class NotSorted(CorruptObject):
    """The rows of one of the sources, by index, are not in order."""

    def __init__(self, source: int, message: str) -> None:
        super().__init__(message)
        self.source = source


def merge_sorted(
    sources: Sequence[Iterator[pa.RecordBatch]], names: Sequence[str]
) -> Iterator[pa.Table]:
    """Merge sources that are each sorted by the columns `names`, ascending, nulls last.

    All batches have one schema. Raises NotSorted if a source turns out not to be in order. Holds a
    batch of each source, and BLOCK_BATCHES more.
    """
    begun = (_Cursor(source, names, number) for number, source in enumerate(sources))
    cursors = [cursor for cursor in begun if cursor.fill()]
    while cursors:
        pieces, bound = _used_up(cursors)
        pieces.extend(cursor.take(bound) for cursor in cursors if cursor.first <= bound)
        yield from _in_order(pieces, names)
        cursors = [cursor for cursor in cursors if cursor.fill()]


def _used_up(cursors: list[_Cursor]) -> tuple[list[_Piece], Key]:
    """Use up the batches that end first, and return them with the last one's last key.

    Each is replaced by its source's next; a cursor whose source ends leaves the list.
    """
    pieces: list[_Piece] = []
    bound: Key = ()
    while cursors and len(pieces) < BLOCK_BATCHES:
        nearest = min(cursors, key=lambda cursor: cursor.last)
        bound = nearest.last
        pieces.append(nearest.take(bound))
        if not nearest.fill():
            cursors.remove(nearest)
    return pieces, bound


@dataclass(frozen=True, slots=True)
class _Piece:
    """Neighbouring rows of one source."""

    first: Key
    last: Key
    batch: pa.RecordBatch


class _Cursor:
    """The place in one source: a batch, and which of its rows are still to come."""

    def __init__(self, source: Iterator[pa.RecordBatch], names: Sequence[str], number: int) -> None:
        self._source = source
        self._number = number
        self._names = names
        self._batch: pa.RecordBatch | None = None
        self._start = 0
        self._columns: list[_KeyColumn] = []
        self.first: Key = ()
        self.last: Key = ()

    def fill(self) -> bool:
        """Make sure that there are rows to take; false at the end of the source."""
        while self._batch is None or self._start >= self._batch.num_rows:
            batch = next(self._source, None)
            if batch is None:
                return False
            if batch.num_rows:
                # Every round joins a batch's dictionaries with the others'.
                self._enter(compact(batch, DICTIONARY_BYTES_MAX))
        return True

    def take(self, bound: Key) -> _Piece:
        """Take the rows up to and including the key `bound`; the first row is one of them."""
        assert self._batch is not None
        end = self._batch.num_rows
        if self.last > bound:
            end = bisect_right(range(end), bound, lo=self._start, key=self._key)
        last = self._key(end - 1)
        piece = _Piece(self.first, last, self._batch.slice(self._start, end - self._start))
        self._start = end
        if end < self._batch.num_rows:
            self.first = self._key(end)
        return piece

    def _enter(self, batch: pa.RecordBatch) -> None:
        before = self.last
        self._batch, self._start = batch, 0
        self._columns = [_KeyColumn(batch.column(name)) for name in self._names]
        self.first, self.last = self._key(0), self._key(batch.num_rows - 1)
        if before > self.first or not is_sorted(batch, self._names):
            raise NotSorted(self._number, f"rows are not sorted by {', '.join(self._names)}")

    def _key(self, row: int) -> Key:
        return tuple([column.part(row) for column in self._columns])


class _KeyColumn:
    """Access to one key column row by row, without leaving its dictionary twice for one value."""

    def __init__(self, column: pa.Array[Any]) -> None:
        self._values: list[KeyPart] | None = None
        if isinstance(column, pa.DictionaryArray):
            self._values = [_part(value) for value in column.dictionary.to_pylist()]
            self._column: pa.Array[Any] = column.indices
        elif pa.types.is_temporal(column.type):
            self._column = column.cast(pa.int64())
        else:
            self._column = column

    def part(self, row: int) -> KeyPart:
        value = self._column[row].as_py()
        if self._values is None or value is None:
            return _part(value)
        code: int = value
        return self._values[code]


def _part(value: Any) -> KeyPart:
    if value is None:
        return _NULL
    return _NAN if isinstance(value, float) and math.isnan(value) else (0, value)


def _in_order(pieces: list[_Piece], names: Sequence[str]) -> Iterator[pa.Table]:
    """Join a block's pieces in key order; only pieces whose keys overlap are sorted row by row.

    Segments of one day mostly hold different times, so most of a merge is copying in order. Takes
    the pieces away, so that their memory is free once they are sorted.
    """
    groups = _overlapping(pieces)
    pieces.clear()
    while groups:
        yield _sorted(groups.pop(0), names)


def _overlapping(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """Group pieces that must be sorted together; the groups come in key order."""
    groups: list[list[_Piece]] = []
    end: Key = ()
    for piece in sorted(pieces, key=lambda piece: piece.first):
        if not groups or piece.first >= end:
            groups.append([])
            end = piece.last
        end = max(end, piece.last)
        groups[-1].append(piece)
    return groups


def _sorted(group: Sequence[_Piece], names: Sequence[str]) -> pa.Table:
    table = pa.Table.from_batches([piece.batch for piece in group])
    if len(group) == 1:
        return table
    return sort_by(table, names)
