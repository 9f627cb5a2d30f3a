"""Differences between a segment as it is registered and a file that is to take its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from meta.v1 import common_pb2
from segments.errors import CorruptObject
from segments.parquet.columns.automatic import automatic_columns, exact_values
from segments.parquet.reader import SegmentFile
from segments.signals import SIGNALS, TRAITS, Signal

_BATCH_ROWS = 8_192


def differences(segment: common_pb2.SegmentInfo, original: Path | None, file: Path) -> list[str]:
    """Lines for a person: rows, time bounds and columns that differ, and how many values.

    `original` is a copy of the segment's object, None if it is missing. Parts that cannot be read
    are compared with the registration alone, and a line says so. Raises CorruptObject for `file`.
    """
    with SegmentFile(file) as new:
        lines = list(_registered(segment, new))
        if original is None:
            return [*lines, "the object is missing: columns and values were not compared"]
        try:
            with SegmentFile(original) as old:
                lines += _compared(old, new)
        except (CorruptObject, OSError) as error:
            lines.append(f"the object cannot be read: values were not compared: {error}")
    return lines or ["rows, time bounds, columns and values are equal; only the bytes differ"]


def stale_columns(file: Path) -> list[str]:
    """Attributes whose usable automatic columns differ from the JSON; a merge would keep them."""
    stale = set[str]()
    with SegmentFile(file) as segment:
        unusable = segment.stored.footer.unusable
        columns = automatic_columns(segment.stored.promoted)
        usable = [column for column in columns if column.name not in unusable]
        for signal in segment.signals if usable else ():
            for batch in segment.batches(signal, _BATCH_ROWS):
                read = exact_values(batch.column("attributes"), usable)
                for column, values in zip(usable, read, strict=True):
                    stored = batch.column(column.name).to_pylist()
                    if values is None or values.to_pylist() != stored:
                        stale.add(column.attribute)
    return sorted(stale)


def _registered(segment: common_pb2.SegmentInfo, new: SegmentFile) -> Iterator[str]:
    pairs = [
        ("rows", new.stored.rows, segment.number_of_events),
        ("start time", new.stored.start_time, segment.time_range.start_time),
        ("end time", new.stored.end_time, segment.time_range.end_time),
    ]
    if segment.HasField("facts"):
        counts = {int(fact.signal): fact.number_of_events for fact in segment.facts.signals}
        pairs += [
            (f"rows of {signal}", new.rows(signal), counts.get(TRAITS[signal].kind, 0))
            for signal in SIGNALS
        ]
    for name, in_file, registered in pairs:
        if in_file != registered:
            yield f"{name}: {in_file} in the file, {registered} registered"


def _compared(old: SegmentFile, new: SegmentFile) -> Iterator[str]:
    for signal in SIGNALS:
        if not (old.rows(signal) or new.rows(signal)):
            continue
        mine, theirs = _table(old, signal), _table(new, signal)
        for name in sorted(set(mine.column_names) ^ set(theirs.column_names)):
            where = "object" if name in mine.column_names else "file"
            yield f"column {signal}.{name}: only in the {where}"
        if mine.num_rows != theirs.num_rows:
            yield f"rows of {signal}: {theirs.num_rows} in the file, {mine.num_rows} in the object"
            continue
        for name in mine.column_names:
            if name in theirs.column_names:
                yield from _column(f"{signal}.{name}", mine[name], theirs[name])


def _column(name: str, mine: pa.ChunkedArray[Any], theirs: pa.ChunkedArray[Any]) -> Iterator[str]:
    if mine.type != theirs.type:
        yield f"column {name}: {theirs.type} in the file, {mine.type} in the object"
        return
    if mine.equals(theirs):
        return
    rows = sum(a != b for a, b in zip(mine.to_pylist(), theirs.to_pylist(), strict=True))
    if rows:
        yield f"column {name}: {rows} of {len(mine)} values differ"


def _table(segment: SegmentFile, signal: Signal) -> pa.Table:
    batches = [_plain(batch) for batch in segment.batches(signal, _BATCH_ROWS)]
    return pa.Table.from_batches(batches) if batches else pa.table({})


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Dictionaries differ from file to file."""
    columns = [
        pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
