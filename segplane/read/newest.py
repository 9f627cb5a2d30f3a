"""The newest rows of a dataset, without reading its older files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from segplane.read.arrow_source import SegmentsDataset, segments_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segplane.read.bounds import TimeBounds
    from segplane.read.columns import ReadColumns
    from segplane.read.files import DatasetFile
    from segplane.read.fresh import FreshRecords
    from segplane.read.pins import VersionPin

_NANOS_PER_MICRO = 1_000
_BATCH_ROWS = 8_192
_NEWEST_FIRST = [("timestamp", "descending"), ("timestamp_nanos", "descending")]


def newest_rows(
    columns: ReadColumns,
    bounds: TimeBounds,
    files: Sequence[DatasetFile],
    fresh: FreshRecords | None,
    pin: VersionPin,
    limit: int,
) -> pa.Table:
    """Return the `limit` rows with the latest times, newest first; `columns` are all there are.

    Memory is bounded by the rows returned and a few batches.
    """
    rows = columns.schema.empty_table()
    if fresh is not None:
        rows = _newest(rows, segments_dataset(columns, bounds, (), fresh, pin), limit)
    for file in sorted(files, key=lambda file: -file.end_time):
        if rows.num_rows == limit and file.end_time < _last_time(rows):
            break
        rows = _newest(rows, segments_dataset(columns, bounds, (file,), None, pin), limit)
    return rows


def _newest(rows: pa.Table, source: SegmentsDataset, limit: int) -> pa.Table:
    """Return the newest of some rows and those of a source."""
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
