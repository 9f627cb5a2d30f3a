"""Rows of files that are not as format 2 stores them today: read, converted, completed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from segments.foreign.opening import Rows, open_rows
from segments.merging.schema_adapter import SectionAdapter
from segments.parquet.columns.stored_columns import FORMAT_MICROSECONDS, section_stored
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal
from segplane.read.files.files import DatasetFile
from segplane.read.files.left_out import opener
from segplane.read.rows.columns import ReadColumns

BATCH_ROWS = 65_536


def converted_batches(file: DatasetFile, columns: ReadColumns) -> Iterator[pa.RecordBatch]:
    """Read a file's rows of the signals asked for, with every column of `columns.all`.

    Promoted columns that nobody asked for are null if the file lacks them.
    """
    with _opened(file) as segment:
        for signal in columns.signals:
            if segment.rows(signal):
                yield from _section(segment, signal, columns)


def _opened(file: DatasetFile) -> Rows:
    mark = file.foreign
    if mark is None:
        return SegmentFile(opener(file)())
    return open_rows(opener(file), mark.origin, mark.registered)


def _section(segment: Rows, signal: Signal, columns: ReadColumns) -> Iterator[pa.RecordBatch]:
    spec = SegmentSpec((), columns.promoted)
    adapter = SectionAdapter(segment, spec, signal, FORMAT_MICROSECONDS)
    stored = section_stored(signal, spec.promoted, FORMAT_MICROSECONDS)
    for batch in segment.stored_batches(signal, FORMAT_MICROSECONDS, BATCH_ROWS):
        adapted = adapter.apply(batch)
        by_name: dict[str, Any] = dict(zip(adapted.schema.names, adapted.columns, strict=True))
        yield conformed(stored.with_words(by_name), adapted.num_rows, columns)


def conformed(by_name: dict[str, Any], rows: int, columns: ReadColumns) -> pa.RecordBatch:
    """Return columns as those of `columns.all`, null if there is none."""
    arrays = []
    for field in columns.all:
        column = by_name.get(field.name)
        if field.name in columns.constants:
            column = pa.repeat(columns.constants[field.name], rows)
        elif column is None:
            column = pa.nulls(rows, field.type)
        elif column.type != field.type:
            column = column.cast(field.type)
        arrays.append(column)
    return pa.record_batch(arrays, schema=columns.all)
