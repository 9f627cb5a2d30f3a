"""The columns of a file as Parquet stores them, and the way there and back.

In memory a time is one column of nanoseconds. Format 1 stores it so. Few engines read that, so
format 2 stores whole microseconds, rounded down, and a second column of the remaining 0 to 999
nanoseconds: time = microseconds * 1000 + remainder, also before 1970. Ordering by the pair is
ordering by the time. Format 2 also stores words in addition to some numbers
(`segments.parquet.columns.readable`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from segments.parquet.columns.readable import READABLE_COLUMNS, ReadableColumn
from segments.parquet.columns.stored_times import (
    REMAINDER,
    STORED_TIME,
    check_time,
    join_time,
    split_time,
)
from segments.parquet.schema import (
    DICTIONARY,
    TIMESTAMP,
    Column,
    promoted_type,
    reserved_names,
    section_columns,
    time_columns,
    wide_columns,
)
from segments.parquet.spec import PromotedColumn
from segments.signals import Signal

FORMAT_NANOSECONDS = 1
FORMAT_MICROSECONDS = 2

_AnyColumn = Any  # A pa.Array or pa.ChunkedArray.


class StoredColumns:
    """Columns of one version of the format, which are `Column`s in memory.

    A merge keeps times as they are stored, and brings the order of the pair into its outputs.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        promoted: Sequence[PromotedColumn],
        format_version: int,
    ) -> None:
        """`promoted` are the file's promoted columns, in whole."""
        self.is_split = format_version >= FORMAT_MICROSECONDS
        names = remainder_names(promoted) if self.is_split else {}
        words = readable_names(promoted) if self.is_split else {}
        self._fields = {
            c.name: pa.field(c.name, c.type, nullable=not c.is_required) for c in columns
        }
        # The remainder's column by the name of the time's.
        self.remainders: Mapping[str, str] = {
            c.name: names[c.name] for c in columns if c.name in names
        }
        # The names of the columns of words, which are never read back.
        self.readable: Mapping[str, ReadableColumn] = {
            words[column.name]: column
            for column in READABLE_COLUMNS
            if column.source in self._fields and column.name in words
        }
        self.columns: tuple[Column, ...] = tuple(
            stored for column in columns for stored in self._stored(column)
        )
        # The columns that are read back, all but the words, and their schema.
        self.kept = tuple(column for column in self.columns if column.name not in self.readable)
        self.schema = pa.schema(
            pa.field(c.name, c.type, nullable=not c.is_required) for c in self.kept
        )

    def order(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return a sort order with every time's remainder behind it."""
        return tuple(
            stored for name in names for stored in (name, self.remainders.get(name)) if stored
        )

    def split(self, columns: Mapping[str, _AnyColumn]) -> dict[str, _AnyColumn]:
        """Turn columns into the stored ones; those that are stored already stay as they are."""
        stored = dict(columns)
        for name, remainder in self.remainders.items():
            if name in stored and stored[name].type == TIMESTAMP:
                stored[name], stored[remainder] = split_time(stored[name])
        return stored

    def with_words(self, columns: Mapping[str, _AnyColumn]) -> dict[str, _AnyColumn]:
        """Add the words of the numbers that are there."""
        words = {
            name: column.read(columns[column.source])
            for name, column in self.readable.items()
            if column.source in columns
        }
        return {**columns, **words}

    def split_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Turn a batch as it is in memory into stored columns."""
        columns = self.split(dict(zip(batch.schema.names, batch.columns, strict=True)))
        fields = [field for field in self.schema if field.name in columns]
        return pa.record_batch([columns[f.name] for f in fields], schema=pa.schema(fields))

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise CorruptObject for stored columns that are not a time."""
        schema = batch.schema
        for name, remainder in self.remainders.items():
            # Columns are found by place: making all names took as long as reading the values.
            index = schema.get_field_index(name)
            if index >= 0:
                check_time(batch.column(index), batch.column(remainder), name)

    def join(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Turn stored columns into those in memory; raises CorruptObject for bad times."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, remainder in self.remainders.items():
            if name in columns:
                columns[name] = join_time(columns[name], columns.pop(remainder), name)
        schema = pa.schema([self._fields[name] for name in columns])
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

    def _stored(self, column: Column) -> list[Column]:
        if not self.is_split:
            return [replace(column, field_id=None)]
        if column.is_unbounded:
            column = replace(column, has_statistics=False)
        words = [
            Column(name, DICTIONARY, field_id=readable.field_id)
            for name, readable in self.readable.items()
            if readable.source == column.name
        ]
        if column.name not in self.remainders:
            return [column, *words]
        remainder = Column(
            self.remainders[column.name],
            REMAINDER,
            is_sortable=False,
            is_required=column.is_required,
            is_compressed=False,
            field_id=None if column.field_id is None else column.field_id + 1,
        )
        return [replace(column, type=STORED_TIME), remainder]


@lru_cache(maxsize=256)
def section_stored(
    signal: Signal, promoted: tuple[PromotedColumn, ...], format_version: int
) -> StoredColumns:
    """Return the columns of one signal as a format stores them."""
    return StoredColumns(section_columns(signal, promoted), promoted, format_version)


@lru_cache(maxsize=256)
def wide_stored(
    signals: tuple[Signal, ...], promoted: tuple[PromotedColumn, ...], format_version: int
) -> StoredColumns:
    """Return the columns of a file that holds these signals as a format stores them."""
    return StoredColumns(wide_columns(signals, promoted), promoted, format_version)


def remainder_names(promoted: Sequence[PromotedColumn]) -> dict[str, str]:
    """Return the name of each time's remainder: `<name>_nanos`.

    A promoted column from before these names were reserved keeps its own, and the remainder gets
    further underscores.
    """
    taken = reserved_names() | {column.name for column in promoted}
    times = [*time_columns(), *(c.name for c in promoted if promoted_type(c) == TIMESTAMP)]
    names: dict[str, str] = {}
    for time in times:
        name = f"{time}_nanos"
        while name in taken:
            name += "_"
        names[time] = name
        taken |= {name}
    return names


def readable_names(promoted: Sequence[PromotedColumn]) -> dict[str, str]:
    """Return the name of each column of words: with underscores if a promoted column has it.

    Case makes no difference, as for many query engines.
    """
    taken = {column.name.casefold() for column in promoted}
    taken |= {name.casefold() for name in remainder_names(promoted).values()}
    names: dict[str, str] = {}
    for column in READABLE_COLUMNS:
        name = column.name
        while name in taken:
            name += "_"
        names[column.name] = name
    return names
