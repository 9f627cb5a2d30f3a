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
from segplane.read.files.files import DatasetFile
from segplane.read.files.filesystems import checked_parquet, fragment_of
from segplane.read.files.nan_bounds import columns_in, divided, floating_in
from segplane.read.pins import VersionPin
from segplane.read.rows.columns import ReadColumns
from segplane.read.rows.conversion import converted_batches
from segplane.read.rows.fresh import FreshRecords
from segplane.read.rows.joined_rows import JoinedRows

# Begins to read batches with every column of `ReadColumns.all`.
BatchSource = Callable[[], Iterator[pa.RecordBatch]]
# Begins to read batches with some columns.
NeededSource = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
_NANOS_PER_MICRO = 1_000
_MICROS = pa.timestamp("us", "UTC")


class SegmentsDataset(ds.FileSystemDataset):
    """Files of a dataset at a version, of one signal or all, within bounds of time.

    Rows of `converted` are in no file of Arrow's: with any, this is a source for `scanner` only.
    Arrow skips files whose bounds exclude a query. Raises PinLost if the version may have been
    deleted.
    """

    def __init__(
        self,
        columns: ReadColumns,
        plain: Sequence[DatasetFile],
        converted: Sequence[BatchSource],
        pin: VersionPin,
        searched: NeededSource | None = None,
    ) -> None:
        fragments = [
            fragment_of(
                file,
                partition_expression=_content(file, columns),
                row_groups=None if file.spans is None else sorted({s.group for s in file.spans}),
            )
            for file in plain
        ]
        super().__init__(fragments, columns.all, checked_parquet(), None)
        self._has_files = bool(fragments)
        # Arrow tells the files of an unfiltered dataset only.
        self._files = ds.FileSystemDataset(fragments, columns.all, checked_parquet())
        self._columns = columns
        self._converted = tuple(converted)
        self._pin = pin
        self._searched = searched
        self._where: pc.Expression | None = None
        # The part of it that the search does not decide.
        self._unsearched: pc.Expression | None = None
        # The part of it that reads no floating-point column.
        self._exact: pc.Expression | None = None

    @property
    def is_arrows_own(self) -> bool:
        """True if Arrow can read every file by itself."""
        return not self._converted and self._searched is None

    @property
    def schema(self) -> pa.Schema:
        """The columns that were asked for."""
        return self._columns.schema

    def filter(self, expression: pc.Expression) -> SegmentsDataset:
        """Return the rows for which an expression is true."""
        filtered: SegmentsDataset = super().filter(expression)
        filtered.__dict__.update(self.__dict__)
        filtered._where = _both(self._where, expression)
        filtered._unsearched = _both(self._unsearched, expression)
        if not floating_in(expression, self._columns.all):
            filtered._exact = _both(self._exact, expression)
        return filtered

    def searched(self, condition: pc.Expression) -> SegmentsDataset:
        """Return the rows that meet a condition, which those of `searched` do."""
        filtered = self.filter(condition)
        filtered._unsearched = self._unsearched
        return filtered

    def scanner(  # type: ignore[override]
        self, columns: Any = None, filter: Any = None, **options: Any
    ) -> ds.Scanner | JoinedRows:
        """Return a scanner of the columns that were asked for, or of others."""
        self._pin.check()
        names = list(self._columns.names) if columns is None else columns
        where = _both(self._where, filter)
        inner = super().scanner(columns=names, filter=filter, **options)
        schema = self._columns.all
        floating = floating_in(where, schema)
        plain, bounded = divided(self._files.get_fragments(where) if floating else (), floating)
        if self.is_arrows_own and not bounded:
            return inner
        sources = [(source, where) for source in self._converted]
        if self._searched is not None:
            unsearched = _both(self._unsearched, filter)
            needed = _needed(names, unsearched, schema)
            sources.append((partial(self._searched, needed), unsearched))
        if bounded:
            inner = self._of(plain).scanner(columns=names, filter=where, **options)
            needed = _needed(names, where, schema)
            exact = _both(self._exact, filter if not floating_in(filter, schema) else None)
            read = partial(self._of(bounded).scanner, columns=needed, filter=exact, **options)
            sources.append((lambda: read().to_batches(), where))
        return JoinedRows(inner.projected_schema, lambda: self._rows(inner, sources, names))

    def sort_by(self, sorting: Any, **options: Any) -> ds.InMemoryDataset:
        """Return the rows in another order."""
        rows = self._in_memory()
        if rows is None:
            return super().sort_by(sorting, **options)
        return rows.sort_by(sorting, **options)

    def join(self, *arguments: Any, **options: Any) -> ds.InMemoryDataset:
        """Return the rows joined with those of another dataset."""
        rows = self._in_memory()
        if rows is None:
            return super().join(*arguments, **options)
        return rows.join(*arguments, **options)

    def _in_memory(self) -> ds.InMemoryDataset | None:
        """Return the rows that are left by a filter of floating-point columns; None without one."""
        if not floating_in(self._where, self._columns.all):
            return None
        # Arrow itself would hand the filter down to every file.
        in_memory: Any = ds.InMemoryDataset
        rows: ds.InMemoryDataset = in_memory(self.to_table())
        return rows

    def _of(self, fragments: list[ds.Fragment]) -> ds.FileSystemDataset:
        return ds.FileSystemDataset(fragments, self._columns.all, self._files.format)

    def _rows(
        self,
        inner: ds.Scanner,
        sources: Sequence[tuple[BatchSource, pc.Expression | None]],
        columns: Any,
    ) -> Iterator[pa.RecordBatch]:
        # A scan of nothing waits for Arrow's threads too.
        yield from inner.to_batches() if self._has_files else ()
        in_memory: Any = ds.InMemoryDataset
        for batches, where in sources:
            self._pin.check()
            for batch in batches():
                if where is None and not isinstance(columns, dict):
                    yield batch.select(columns)
                else:
                    yield from in_memory(batch).scanner(columns=columns, filter=where).to_batches()


def segments_dataset(
    columns: ReadColumns,
    bounds: TimeBounds,
    files: Sequence[DatasetFile],
    fresh: FreshRecords | None,
    pin: VersionPin,
    body_text: str = "",
) -> SegmentsDataset:
    """Return the rows that are of the signals asked for, within bounds of time.

    Their bodies have `body_text` as a term, unless it is "".
    """
    searched, condition = None, None
    few: list[DatasetFile] = []
    if body_text:
        # It takes modules of the query language that other readers do not need.
        from segplane.read.rows.body_search import BodySearch, has_few_rows

        search = BodySearch(body_text, columns)
        condition = search.condition
        files = search.files(files)
        few = [file for file in files if columns.has_as_stored(file) and has_few_rows(file)]
        searched = partial(search.batches, few) if few else None
    ids = {file.segment_id for file in few}
    plain = [file for file in files if columns.has_as_stored(file) and file.segment_id not in ids]
    converted: list[BatchSource] = [
        partial(converted_batches, file, columns)
        for file in files
        if not columns.has_as_stored(file)
    ]
    if fresh is not None and fresh.has_any:
        converted.append(partial(_fresh_batches, fresh, columns))
    dataset = SegmentsDataset(columns, plain, converted, pin, searched)
    where = row_filter(columns, bounds, files if fresh is None else None)
    dataset = dataset if where is None else dataset.filter(where)
    return dataset if condition is None else dataset.searched(condition)


def _fresh_batches(fresh: FreshRecords, columns: ReadColumns) -> Iterator[pa.RecordBatch]:
    # Decoding takes libraries that files do not need.
    from segplane.read.rows.fresh_batches import FreshReading

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


def _content(file: DatasetFile, columns: ReadColumns) -> pc.Expression:
    """Return the condition that every requested row of a file meets."""
    time = pc.field("timestamp")
    first, last = (
        pa.scalar(nanos // _NANOS_PER_MICRO, _MICROS) for nanos in (file.start_time, file.end_time)
    )
    content = (time >= first) & (time <= last)
    if file.signals:
        signal = pc.field("signal")
        content &= (signal >= min(file.signals)) & (signal <= max(file.signals))
    return content & columns.guarantee if columns.constants else content


def _needed(names: Any, where: pc.Expression | None, schema: pa.Schema) -> list[str]:
    """Return the columns that a scan of these columns, or expressions, and a filter reads."""
    asked = set(columns_in(where, schema))
    for name in names.values() if isinstance(names, dict) else ():
        asked |= set(columns_in(name, schema))
    asked |= set() if isinstance(names, dict) else set(names)
    return [name for name in schema.names if name in asked]


def _both(first: pc.Expression | None, second: pc.Expression | None) -> pc.Expression | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second
