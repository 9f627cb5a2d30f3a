"""A Parquet file that others wrote, with the interface of a segment's file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from segments.errors import CorruptObject
from segments.foreign.expanded import pieces, text_paths
from segments.foreign.mapping import (
    ForeignMapping,
    NotMappable,
    check_names,
    mapping_of,
    signal_values,
)
from segments.foreign.origin import RegisteredFile
from segments.parquet.columns.stored_columns import StoredColumns, section_stored
from segments.parquet.columns.stored_times import widened_bounds
from segments.parquet.footer import (
    FORMAT_VERSION,
    SectionContent,
    SegmentContent,
    SegmentFooter,
    StoredFooter,
)
from segments.parquet.lineage import BatchPart
from segments.parquet.reader import corruption_found, distinct_days, plain_bytes
from segments.signals import SIGNALS, Signal

# Bytes of a row group before compression, which a reader may have to hold.
GROUP_BYTES_MAX = 2**30
_BATCH_ROWS = 8_192
# A column of a row group that is larger than the first and is packed to less than its thousandth is
# made to fill a reader's memory: pages of dictionaries and numbers stay far below.
CHUNK_BYTES_MAX = 64 * 1024 * 1024
COMPRESSION_MAX = 1_000
# Prefix of metadata keys that every footer of ours has, and no other.
OWN_KEYS = b"segplane."
# The format of facts of a file that is not a segment.
FORMAT_FOREIGN = 0


class ClaimsToBeSegment(CorruptObject):
    """The file has a segment's metadata, so its faults are damage."""


class ForeignFile:
    """One open file. Faults of its bytes raise CorruptObject, faults of its rows NotMappable.

    Its lineage is its own batch, so that a merge's output says that it holds the file.
    """

    def __init__(self, source: Path | io.IOBase, registered: RegisteredFile) -> None:
        """Open a file and read its times once; raises CorruptObject, NotMappable."""
        self._close = None if isinstance(source, Path) else source.close
        where = str(source) if isinstance(source, Path) else pa.PythonFile(source, mode="r")
        with corruption_found("not a readable Parquet file"):
            metadata = pq.read_metadata(where)
            if any(key.startswith(OWN_KEYS) for key in metadata.metadata or ()):
                raise ClaimsToBeSegment("its footer is that of a segment, and damaged")
            self._metadata = metadata
            _check_groups(metadata)
            plain = pq.ParquetFile(where, metadata=metadata)
            self._schema = plain.schema_arrow
            # Texts stay dictionaries until they are written out piece by piece.
            self._file = pq.ParquetFile(
                where, metadata=metadata, read_dictionary=text_paths(metadata)
            )
        if metadata.num_rows != registered.rows:
            raise NotMappable(
                f"it has {metadata.num_rows} rows, registered are {registered.rows} events"
            )
        self._mapping, content = self._examine(registered)
        self.content = SegmentContent(FORMAT_FOREIGN, content)
        self.stored = _stored(registered, content)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close(force=True)
        if self._close:
            self._close()

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals that have rows."""
        return tuple(self.stored.rows_by_signal)

    @property
    def size_bytes(self) -> int:
        """Bytes of all row groups before compression."""
        return plain_bytes(self._metadata)

    def rows(self, signal: Signal) -> int:
        """Rows of a signal."""
        return self.stored.rows_by_signal.get(signal, 0)

    def section_bytes(self, signal: Signal) -> int:
        """Bytes of a signal's rows before compression, by its share of the rows."""
        return self.size_bytes * self.rows(signal) // max(1, self.stored.rows)

    def days(self) -> set[int]:
        """Return the UTC days since 1970 that hold rows; reads the times only."""
        days: set[int] = set()
        for signal in self.signals:
            for batch in self.batches(signal, _BATCH_ROWS):
                days.update(distinct_days(pa.chunked_array([batch.column("timestamp")])))
        return days

    def columns(self, signal: Signal, format_version: int | None = None) -> StoredColumns:
        """Return the columns of a section, as a format stores them."""
        return section_stored(signal, (), format_version or FORMAT_VERSION)

    def batches(self, signal: Signal, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read the rows of a signal in file order, as columns in memory."""
        for batch in self._read(batch_rows, None):
            rows_of_signal = _of_signal(batch, signal, self._mapping)
            if rows_of_signal.num_rows:
                with corruption_found(f"rows of {signal} cannot be read"):
                    mapped = self._mapped(rows_of_signal, signal)
                yield mapped

    def _mapped(self, rows: pa.RecordBatch, signal: Signal) -> pa.RecordBatch:
        """Map rows; values that Python cannot hold, such as far times in lists, are not records."""
        try:
            return self._mapping.batch(rows, signal)
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            if isinstance(error, pa.ArrowException):
                raise
            raise NotMappable(f"its values cannot be read: {error}") from error

    def stored_batches(
        self, signal: Signal, format_version: int, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows of a signal with columns as a format stores them."""
        stored = self.columns(signal, format_version)
        for batch in self.batches(signal, batch_rows):
            yield stored.split_batch(batch)

    def check_rows(self) -> None:
        """Read and map every row once; raises CorruptObject, NotMappable."""
        for signal in self.signals:
            for _ in self.batches(signal, _BATCH_ROWS):
                pass

    def _read(self, batch_rows: int, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        with corruption_found("rows cannot be read"):
            for group in range(self._metadata.num_row_groups):
                for batch in self._file.iter_batches(
                    batch_size=batch_rows, row_groups=[group], columns=columns, use_threads=False
                ):
                    yield from pieces(batch, self._schema)

    def _examine(
        self, registered: RegisteredFile
    ) -> tuple[ForeignMapping, dict[Signal, SectionContent]]:
        """Read times and signals of all rows."""
        schema = self._schema
        check_names(schema)
        signals = self._signals(schema)
        mapping = mapping_of(schema, registered.time_column, signals)
        counts: dict[Signal, int] = {}
        bounds: dict[Signal, tuple[int, int]] = {}
        names = [mapping.time_column, f"{mapping.time_column}_nanos", "signal"]
        for batch in self._read(_BATCH_ROWS, [name for name in names if name in schema.names]):
            for signal in signals or mapping.columns:
                rows_of_signal = _of_signal(batch, signal, mapping)
                if rows_of_signal.num_rows:
                    times = mapping.times(rows_of_signal)
                    if times.null_count:
                        raise NotMappable(f"{times.null_count} rows have no time")
                    counts[signal] = counts.get(signal, 0) + rows_of_signal.num_rows
                    bounds[signal] = widened_bounds(bounds.get(signal), times, None)
        _check_bounds(registered, bounds)
        return mapping, {s: SectionContent(counts[s], *bounds[s]) for s in SIGNALS if s in counts}

    def _signals(self, schema: pa.Schema) -> list[Signal]:
        """Return the signals that rows name; none if the file has no such column."""
        if "signal" not in schema.names:
            return []
        signals: set[Signal] = set()
        for batch in self._read(_BATCH_ROWS, ["signal"]):
            signals.update(signal_values(batch.column("signal")))
        return [signal for signal in SIGNALS if signal in signals]


def _of_signal(batch: pa.RecordBatch, signal: Signal, mapping: ForeignMapping) -> pa.RecordBatch:
    if mapping.signal is not None:
        return batch if mapping.signal == signal else batch.slice(0, 0)
    column: Any = batch.column("signal")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return batch.filter(pc.equal(column, pa.scalar(signal, column.type)))


def _check_groups(metadata: pq.FileMetaData) -> None:
    for number in range(metadata.num_row_groups):
        size = metadata.row_group(number).total_byte_size
        if not 0 <= size <= GROUP_BYTES_MAX:
            raise NotMappable(
                f"a row group has {size} bytes before compression, at most {GROUP_BYTES_MAX} are"
                " read: write smaller ones"
            )
        for index in range(metadata.num_columns):
            chunk = metadata.row_group(number).column(index)
            plain, packed = chunk.total_uncompressed_size, chunk.total_compressed_size
            if plain > CHUNK_BYTES_MAX and plain > packed * COMPRESSION_MAX:
                raise NotMappable(
                    f"column {chunk.path_in_schema} has {plain} bytes in {packed}: at most"
                    f" {COMPRESSION_MAX} times as many are read of what is above {CHUNK_BYTES_MAX}"
                )


def _check_bounds(registered: RegisteredFile, bounds: dict[Signal, tuple[int, int]]) -> None:
    if not bounds:
        raise NotMappable("it has no rows")
    low, high = min(b[0] for b in bounds.values()), max(b[1] for b in bounds.values())
    if low < registered.start_time or high > registered.end_time:
        raise NotMappable(
            f"it holds times {low}..{high}, registered are"
            f" {registered.start_time}..{registered.end_time}"
        )


def _stored(registered: RegisteredFile, content: dict[Signal, SectionContent]) -> StoredFooter:
    part = BatchPart(registered.segment_id, 1, 1)
    bounds = {signal: (c.start_time, c.end_time) for signal, c in content.items()}
    start, end = min(low for low, _ in bounds.values()), max(high for _, high in bounds.values())
    return StoredFooter(
        SegmentFooter(registered.dataset_id, "others", batches=(part,)),
        {signal: section.rows for signal, section in content.items()},
        start,
        end,
        (),
        (),
        (),
        bounds,
    )
