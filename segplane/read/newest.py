"""The newest rows of a dataset, without reading its older files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from segplane.read.arrow_source import segments_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segplane.read.dataset import OpenDataset
    from segplane.read.files import DatasetFile

_NANOS_PER_MICRO = 1_000
_BATCH_ROWS = 8_192
_NEWEST_FIRST = [("timestamp", "descending"), ("timestamp_nanos", "descending")]


def newest_rows(dataset: OpenDataset, limit: int) -> pa.Table:
    """Return the `limit` rows with the latest times, newest first; the dataset has every column.

    Memory is bounded by the rows returned and a few batches.
    """
    rows = dataset.schema.empty_table()
    if dataset.fresh is not None:
        rows = _newest(rows, dataset, (), limit)
    for file in sorted(dataset.files(), key=lambda file: -file.end_time):
        if rows.num_rows == limit and file.end_time < _last_time(rows):
            break
        rows = _newest(rows, dataset, (file,), limit)
    return rows


def _newest(
    rows: pa.Table, dataset: OpenDataset, files: Sequence[DatasetFile], limit: int
) -> pa.Table:
    """Return the newest of some rows and those of files; of fresh ones if there is no file."""
    fresh = None if files else dataset.fresh
    source = segments_dataset(dataset.columns, dataset.bounds, files, fresh, dataset.pin)
    scanner = source.scanner(
        batch_size=_BATCH_ROWS, batch_readahead=1, fragment_readahead=1, use_threads=False
    )
    for batch in scanner.to_batches():
        both = pa.concat_tables([rows, pa.Table.from_batches([batch])])
        rows = both.take(pc.sort_indices(both, sort_keys=_NEWEST_FIRST)[:limit])  # type: ignore[arg-type]
    return rows


def _last_time(rows: pa.Table) -> int:
    micros, nanos = rows["timestamp"].cast(pa.int64()), rows["timestamp_nanos"]
    return int(micros[-1].as_py()) * _NANOS_PER_MICRO + int(nanos[-1].as_py())
