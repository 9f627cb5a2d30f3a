"""Sections of a file: the rows of each signal, by row group.

A row group belongs to one section. A file that is one row group may hold all its sections in it,
one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from segments.errors import CorruptObject
from segments.parquet.footer import StoredFooter
from segments.signals import SIGNALS, Signal


@dataclass(frozen=True, slots=True)
class GroupRows:
    """Rows of one section in one row group, from `start` to before `stop`."""

    row_group: int
    start: int
    stop: int
    is_shared: bool = False

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    def of(self, batch: pa.RecordBatch, position: int, signal: Signal) -> pa.RecordBatch:
        """Cut a section's rows out of a batch that begins at a row of the row group.

        Raises CorruptObject if rows of a shared row group are not of the signal.
        """
        if not self.is_shared:
            return batch
        first = min(batch.num_rows, max(0, self.start - position))
        last = min(batch.num_rows, max(first, self.stop - position))
        rows = batch.slice(first, last - first)
        signals = pc.unique(rows.column("signal")).to_pylist()
        if rows.num_rows and signals != [signal]:
            raise CorruptObject(f"rows {self.start} to {self.stop} are of {signals}, not {signal}")
        return rows


def sections_of(
    metadata: pq.FileMetaData, stored: StoredFooter
) -> dict[Signal, tuple[GroupRows, ...]]:
    """Deal rows to the sections by the footer's row counts, which must come out even."""
    if metadata.num_row_groups == 1:
        return _shared(metadata.row_group(0).num_rows, stored)
    sections: dict[Signal, tuple[GroupRows, ...]] = {}
    index = 0
    for signal in SIGNALS:
        remaining_rows, groups = stored.rows_by_signal.get(signal, 0), list[GroupRows]()
        while remaining_rows > 0 and index < metadata.num_row_groups:
            rows = metadata.row_group(index).num_rows
            groups.append(GroupRows(index, 0, rows))
            remaining_rows -= rows
            index += 1
        if remaining_rows != 0:
            raise CorruptObject(f"row groups of {signal} do not hold the rows that the footer says")
        if groups:
            sections[signal] = tuple(groups)
    if index != metadata.num_row_groups:
        raise CorruptObject("the file has row groups beyond those that the footer counts")
    return sections


def _shared(group_rows: int, stored: StoredFooter) -> dict[Signal, tuple[GroupRows, ...]]:
    if stored.rows != group_rows:
        signals = ", ".join(stored.rows_by_signal)
        raise CorruptObject(f"row groups of {signals} do not hold the rows that the footer says")
    sections: dict[Signal, tuple[GroupRows, ...]] = {}
    start = 0
    for signal in SIGNALS:
        if rows := stored.rows_by_signal.get(signal, 0):
            stop = start + rows
            sections[signal] = (GroupRows(0, start, stop, is_shared=rows < group_rows),)
            start = stop
    return sections
