"""The newest rows of a dataset, without reading its older files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from segplane.read.rows.arrow_source import SegmentsDataset, segments_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segplane.read.bounds import TimeBounds
    from segplane.read.files.files import DatasetFile
    from segplane.read.pins import VersionPin
    from segplane.read.rows.columns import ReadColumns
    from segplane.read.rows.fresh import FreshRecords

_NANOS_PER_MICRO = 1_000
_BATCH_ROWS = 8_192
_TIMES = ["timestamp", "timestamp_nanos"]
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
    if source.is_arrows_own:
        # Times are a small part of a file: row groups without a new row are not read further.
        times = _merged(rows.select(_TIMES), source, limit, _since(rows, limit))
        return _merged(rows, source, limit, _since(times, limit))
    return _merged(rows, source, limit, None)


def _since(rows: pa.Table, limit: int) -> pa.Scalar[Any] | None:
    """Return the time before which no row is one of the newest; None = any may be."""
    return rows["timestamp"][-1] if rows.num_rows == limit else None


def _merged(
    rows: pa.Table, source: SegmentsDataset, limit: int, since: pa.Scalar[Any] | None
) -> pa.Table:
    """Return the newest of some rows and those that a source has from a time on."""
    scanner = source.scanner(
        rows.column_names,
        None if since is None else pc.field("timestamp") >= since,
        batch_size=_BATCH_ROWS,
        batch_readahead=1,
        fragment_readahead=1,
        use_threads=False,
    )
    for batch in scanner.to_batches():
        if batch.num_rows:
            both = pa.concat_tables([rows, pa.Table.from_batches([batch])])
            rows = both.take(pc.sort_indices(both, sort_keys=_NEWEST_FIRST)[:limit])  # type: ignore[arg-type]
    return rows


def _last_time(rows: pa.Table) -> int:
    micros, nanos = rows["timestamp"].cast(pa.int64()), rows["timestamp_nanos"]
    return int(micros[-1].as_py()) * _NANOS_PER_MICRO + int(nanos[-1].as_py())
