"""Writes one dataset's columns as sorted merged segments, one per UTC day, and uploads them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dataplane.babies.columns import DatasetColumns
from dataplane.babies.reads import DatasetWork
from nursery.execution.dataset_execution import OpenBatch
from segments.otlp.arrow import Array, pc
from segments.parquet.footer import SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.parquet.sorting import sort_table
from segments.parquet.upload import WrittenSegment, upload_segment
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore

# Bounds the files of a client with a random clock: the smallest days share one file.
DAY_FILES_MAX = 8
# The files of rows that are written at once.
FILES_MAX = DAY_FILES_MAX + 1
DAY_NANOS = 86_400 * 10**9


def write_segments(
    store: ObjectStore,
    work: DatasetWork,
    columns: DatasetColumns,
    folder: Path,
    batch: OpenBatch,
    footer: SegmentFooter,
    *,
    is_last: bool,
) -> list[WrittenSegment]:
    """Write, upload and verify all of `columns`; the local files are removed.

    `is_last`: the batch gets no more files after these. `footer` is theirs, but for the batch.
    """
    tables = columns.joined()
    days = list(_day_files(tables))
    written = []
    last = batch.parts + len(days)
    for part, file_days in enumerate(days, start=batch.parts + 1):
        count = last if is_last and part == last else 0
        of_part = replace(footer, batches=(BatchPart(batch.batch_id, part, count),))
        path = folder / f"{batch.batch_id}-{part}.parquet"
        key = batch.key(work, part)
        written.append(write_one(store, work, _of_days(tables, file_days), of_part, path, key))
    batch.parts = last
    return written


def write_one(
    store: ObjectStore,
    work: DatasetWork,
    tables: Mapping[Signal, pa.Table],
    footer: SegmentFooter,
    path: Path,
    key: str,
) -> WrittenSegment:
    """Write, upload and verify one file of some rows; the local file is removed."""
    try:
        samples = list(tables.values())
        with SegmentWriter(path, tables.keys(), work.spec, footer, samples) as writer:
            for signal in SIGNALS:
                if signal in tables:
                    writer.write(signal, sort_table(tables[signal], work.spec, signal))
            facts = writer.close()
        upload_segment(store, key, path, facts)
    finally:
        path.unlink(missing_ok=True)
    return WrittenSegment(key, facts)


def _day_files(tables: Mapping[Signal, pa.Table]) -> Iterator[frozenset[int] | None]:
    """The days of each file; None stands for all days."""
    rows: dict[int, int] = {}
    for table in tables.values():
        time_bounds = pc.min_max(table["timestamp"].cast(pa.int64())).as_py()
        first, last = time_bounds["min"] // DAY_NANOS, time_bounds["max"] // DAY_NANOS
        if first == last:
            rows[first] = rows.get(first, 0) + table.num_rows
            continue
        for item in pc.value_counts(_days(table)).to_pylist():
            rows[item["values"]] = rows.get(item["values"], 0) + item["counts"]
    if len(rows) == 1:
        yield None
        return
    # Among days with equal rows the newest comes first: today must not end in a file of a month.
    largest_first = sorted(rows, key=lambda day: (-rows[day], -day))
    for day in sorted(largest_first[:DAY_FILES_MAX]):
        yield frozenset((day,))
    if smaller_days := largest_first[DAY_FILES_MAX:]:
        yield frozenset(smaller_days)


def _of_days(
    tables: Mapping[Signal, pa.Table], days: frozenset[int] | None
) -> dict[Signal, pa.Table]:
    if days is None:
        return dict(tables)
    values = pa.array(sorted(days), pa.int64())
    filtered = {s: _filter(t, pc.is_in(_days(t), value_set=values)) for s, t in tables.items()}
    return {signal: table for signal, table in filtered.items() if table.num_rows}


def _filter(table: pa.Table, mask: Any) -> pa.Table:
    return table.filter(mask)


def _days(table: pa.Table) -> Array:
    return pc.divide(table["timestamp"].cast(pa.int64()), pa.scalar(DAY_NANOS, pa.int64()))
