"""Rows as readers must give them, from the tables that were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from segments.parquet.columns.promoted import promote
from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.parquet.columns.stored_times import split_time
from segments.parquet.spec import PromotedColumn
from segments.signals import Signal

Rows = Counter[tuple[tuple[str, str], ...]]


def rows_as_read(table: pa.Table) -> Rows:
    """Return rows in a form that compares: every value as text, without nulls."""
    columns = {name: _texts(table[name]) for name in sorted(table.schema.names)}
    return Counter(
        tuple(pair for pair in zip(columns, row, strict=True) if pair[1] != "None")
        for row in zip(*columns.values(), strict=True)
    )


def rows_as_written(
    sections: Iterable[Mapping[Signal, pa.Table]], promoted: Sequence[PromotedColumn] = ()
) -> Rows:
    """Return what readers must give of these sections, by the rules of the format alone."""
    rows: Rows = Counter()
    for tables in sections:
        for table in tables.values():
            rows += rows_as_read(_stored(table, promoted))
    return rows


def _stored(table: pa.Table, promoted: Sequence[PromotedColumn]) -> pa.Table:
    columns: dict[str, Any] = {name: table[name] for name in table.schema.names}
    for readable in READABLE_COLUMNS:
        if readable.source in columns:
            columns[readable.name] = readable.read(columns[readable.source])
    batch = table.combine_chunks().to_batches()[0]
    computed = [column for column in promoted if column.name not in columns]
    values, _ = promote(batch, computed)
    columns |= dict(zip((column.name for column in computed), values, strict=True))
    for name, column in list(columns.items()):
        if pa.types.is_timestamp(column.type):
            columns[name], columns[f"{name}_nanos"] = split_time(column)
    return pa.table(columns)


def _texts(column: pa.ChunkedArray[Any]) -> list[str]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return [repr(value) for value in column.to_pylist()]
