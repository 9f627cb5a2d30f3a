"""A dataset's files as one pyarrow source that can be read any number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from segments.signals import SIGNALS
from segplane.read.bounds import TimeBounds
from segplane.read.columns import ReadColumns
from segplane.read.conversion import converted_batches
from segplane.read.files import DatasetFile
from segplane.read.filesystems import filesystem, path_of
from segplane.read.fresh import FreshRecords
from segplane.read.pins import VersionPin

# Begins to read batches with every column of `ReadColumns.all`.
BatchSource = Callable[[], Iterator[pa.RecordBatch]]
_NANOS_PER_MICRO = 1_000
_MICROS = pa.timestamp("us", "UTC")


class SegmentsDataset(ds.FileSystemDataset):
    """Files of a dataset at a version, of one signal or all, within bounds of time.

    Rows of `converted` are in no file of Arrow's: with any, this is a source for `scanner` only.
    Arrow leaves out files whose bounds exclude a query. Raises PinLost if the version may have been
    deleted.
    """

    def __init__(
        self,
        columns: ReadColumns,
        plain: Sequence[DatasetFile],
        converted: Sequence[BatchSource],
        pin: VersionPin,
    ) -> None:
        file_format = ds.ParquetFileFormat(
            default_fragment_scan_options=ds.ParquetFragmentScanOptions(
                page_checksum_verification=True
            )
        )
        fragments = [
            file_format.make_fragment(
                path_of(file),
                filesystem(file.store),
                partition_expression=_content(file),
                file_size=file.size_bytes,
            )
            for file in plain
        ]
        super().__init__(fragments, columns.all, file_format, None)
        self._columns = columns
        self._converted = tuple(converted)
        self._pin = pin
        self._where: pc.Expression | None = None

    @property
    def is_arrows_own(self) -> bool:
        """True if Arrow can read every file by itself."""
        return not self._converted

    @property
    def schema(self) -> pa.Schema:
        """The columns that were asked for."""
        return self._columns.schema

    def filter(self, expression: pc.Expression) -> SegmentsDataset:
        """Return the rows for which an expression is true."""
        filtered: SegmentsDataset = super().filter(expression)
        filtered.__dict__.update(self.__dict__)
        filtered._where = _both(self._where, expression)
        return filtered

    def scanner(  # type: ignore[override]
        self, columns: Any = None, filter: Any = None, **options: Any
    ) -> ds.Scanner | JoinedRows:
        """Return a scanner of the columns that were asked for, or of others."""
        self._pin.check()
        names = list(self._columns.names) if columns is None else columns
        own = super().scanner(columns=names, filter=filter, **options)
        if not self._converted:
            return own
        where = _both(self._where, filter)
        return JoinedRows(own.projected_schema, lambda: self._rows(own, names, where))

    def _rows(
        self, own: ds.Scanner, columns: Any, where: pc.Expression | None
    ) -> Iterator[pa.RecordBatch]:
        yield from own.to_batches()
        in_memory: Any = ds.InMemoryDataset
        for batches in self._converted:
            self._pin.check()
            for batch in batches():
                yield from in_memory(batch).scanner(columns=columns, filter=where).to_batches()


class JoinedRows:
    """A scanner of rows that our own code makes, as far as readers use one.

    It runs in the thread of the reader. A scanner of Arrow's would run it in one of Arrow's eight
    threads for reads, where it waits for others of them: four such scans of one query waited for
    each other for ever.
    """

    def __init__(
        self, projected_schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]
    ) -> None:
        self.projected_schema = projected_schema
        self._batches = batches

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read batch by batch."""
        return self._batches()

    def to_reader(self) -> pa.RecordBatchReader:
        """Return a reader of the batches."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._batches())

    def to_table(self) -> pa.Table:
        """Read everything into memory."""
        return self.to_reader().read_all()


def segments_dataset(
    columns: ReadColumns,
    bounds: TimeBounds,
    files: Sequence[DatasetFile],
    fresh: FreshRecords | None,
    pin: VersionPin,
) -> SegmentsDataset:
    """Return the rows that are of the signals asked for, within bounds of time."""
    plain = [file for file in files if columns.has_as_stored(file)]
    converted: list[BatchSource] = [
        partial(converted_batches, file, columns)
        for file in files
        if not columns.has_as_stored(file)
    ]
    if fresh is not None and fresh.babies:
        converted.append(partial(_fresh_batches, fresh, columns))
    dataset = SegmentsDataset(columns, plain, converted, pin)
    where = row_filter(columns, bounds, files if fresh is None else None)
    return dataset if where is None else dataset.filter(where)


def _fresh_batches(fresh: FreshRecords, columns: ReadColumns) -> Iterator[pa.RecordBatch]:
    # Decoding takes libraries that files do not need.
    from segplane.read.fresh_batches import FreshReading

    return FreshReading(fresh, columns).batches()


def row_filter(
    columns: ReadColumns, bounds: TimeBounds, files: Sequence[DatasetFile] | None
) -> pc.Expression | None:
    """Return the condition on the rows of the files; None = all rows."""
    where: pc.Expression | None = None
    if columns.signals != SIGNALS:
        for signal in columns.signals:
            where = _both(where, pc.field("signal") == signal)
    if files is not None and all(bounds.contain(f.start_time, f.end_time) for f in files):
        return where
    if bounds.start is not None:
        where = _both(where, _from(bounds.start))
    if bounds.end is not None:
        where = _both(where, ~_from(bounds.end))
    return where


def _from(nanos: int) -> pc.Expression:
    """Return the condition that a row's exact time is at least this."""
    whole, remainder = divmod(nanos, _NANOS_PER_MICRO)
    time, micros = pc.field("timestamp"), pa.scalar(whole, _MICROS)
    if not remainder:
        return time >= micros
    # The first term is what row groups are pruned by.
    return (time >= micros) & ((time > micros) | (pc.field("timestamp_nanos") >= remainder))


def _content(file: DatasetFile) -> pc.Expression:
    """Return the condition that every requested row of a file meets."""
    time = pc.field("timestamp")
    first, last = (
        pa.scalar(nanos // _NANOS_PER_MICRO, _MICROS) for nanos in (file.start_time, file.end_time)
    )
    content = (time >= first) & (time <= last)
    if file.signals:
        signal = pc.field("signal")
        content &= (signal >= min(file.signals)) & (signal <= max(file.signals))
    return content


def _both(first: pc.Expression | None, second: pc.Expression | None) -> pc.Expression | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second
