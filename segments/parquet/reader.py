"""Reads merged segments: footer, sections, batches of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from segments.errors import CorruptObject
from segments.parquet.columns.field_ids import field_id_of
from segments.parquet.columns.stored_columns import StoredColumns, section_stored, wide_stored
from segments.parquet.footer import FORMAT_VERSION_MAX, StoredFooter, decode_footer
from segments.parquet.schema import dictionary_columns
from segments.parquet.sections import sections_of
from segments.parquet.spec import PromotedColumn
from segments.signals import Signal
from segments.store.interface import ObjectStore

# Rows at a time of a check, which keeps none.
_CHECKED_ROWS = 8_192


class SegmentFile:
    """One open segment. Everything that is wrong with its bytes raises CorruptObject."""

    def __init__(self, source: Path | io.IOBase) -> None:
        """Open a local file, or an object opened by `ObjectStore.open_input`."""
        self._close = None if isinstance(source, Path) else source.close
        where = str(source) if isinstance(source, Path) else pa.PythonFile(source, mode="r")
        with corruption_found("not a readable Parquet file"):
            self._footer_only = pq.read_metadata(where)
            self.stored: StoredFooter = decode_footer(self._footer_only.metadata)
            present = _checked_names(self._footer_only, self.stored)
            self._present = present
            dictionaries = dictionary_columns(self.stored.promoted)
            self._file = pq.ParquetFile(
                where,
                metadata=self._footer_only,
                memory_map=isinstance(source, Path),
                read_dictionary=[name for name in dictionaries if name in present],
                page_checksum_verification=True,
            )
        self._sections = sections_of(self._footer_only, self.stored)

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
        """The sections that hold rows, in file order."""
        return tuple(self._sections)

    @property
    def size_bytes(self) -> int:
        """Bytes of all row groups before compression."""
        return plain_bytes(self._footer_only)

    def rows(self, signal: Signal) -> int:
        """Rows of a section."""
        return self.stored.rows_by_signal.get(signal, 0)

    def section_bytes(self, signal: Signal) -> int:
        """Bytes of a section before compression; of a shared row group by its share of the rows."""
        parts = self._sections.get(signal, ())
        groups = (self._footer_only.row_group(part.row_group) for part in parts)
        return sum(
            group.total_byte_size * part.num_rows // max(1, group.num_rows)
            for part, group in zip(parts, groups, strict=True)
        )

    def days(self) -> set[int]:
        """Return the UTC days since 1970 that hold rows; reads the times only."""
        days: set[int] = set()
        with corruption_found("times cannot be read"):
            for row_group in range(self._footer_only.num_row_groups):
                times = self._file.read_row_group(
                    row_group, columns=["timestamp"], use_threads=False
                )
                days.update(distinct_days(times["timestamp"]))
        return days

    def batches(self, signal: Signal, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read a section in file order, only the columns that the file's format gives it.

        Times are nanoseconds, whatever the file's format. At its end the rows are counted: raises
        CorruptObject if the footer has another count.
        """
        stored = self.columns(signal)
        with corruption_found(f"rows of {signal} cannot be read"):
            for batch in self._batches(signal, stored, batch_rows):
                yield stored.join(batch)

    def read_all(self) -> None:
        """Decode every page; raises CorruptObject."""
        for signal in self.signals:
            for _ in self.batches(signal, _CHECKED_ROWS):
                pass

    def stored_batches(
        self, signal: Signal, format_version: int, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Read a section as `batches` does, with columns as a format stores them.

        Times of the file's own format stay as they are.
        """
        stored, target = self.columns(signal), self.columns(signal, format_version)
        with corruption_found(f"rows of {signal} cannot be read"):
            for batch in self._batches(signal, stored, batch_rows):
                if stored.is_split == target.is_split:
                    stored.check(batch)
                    yield batch
                else:
                    yield target.split_batch(stored.join(batch))

    def columns(self, signal: Signal, format_version: int | None = None) -> StoredColumns:
        """Return the columns of a section, as the file or a format stores them."""
        version = self.stored.footer.format_version if format_version is None else format_version
        return section_stored(signal, self.stored.promoted, version)

    def _batches(
        self, signal: Signal, stored: StoredColumns, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        rows = 0
        # One row group at a time: Arrow keeps the bytes of all that it was asked for.
        for part in self._sections.get(signal, ()):
            position = 0
            for batch in self._file.iter_batches(
                batch_size=batch_rows,
                row_groups=[part.row_group],
                columns=[c.name for c in stored.kept if c.name in self._present],
                use_threads=False,
            ):
                part_rows = part.of(batch, position, signal)
                position += batch.num_rows
                rows += part_rows.num_rows
                if part_rows.num_rows:
                    yield part_rows
        if rows != self.rows(signal):
            raise CorruptObject(
                f"section {signal} gave {rows} rows, its footer says {self.rows(signal)}"
            )


def plain_bytes(metadata: pq.FileMetaData) -> int:
    """Return the bytes of all row groups before compression."""
    groups = range(metadata.num_row_groups)
    return sum(metadata.row_group(group).total_byte_size for group in groups)


@contextmanager
def corruption_found(what: str) -> Iterator[None]:
    """Turn what Arrow raises over bad bytes into CorruptObject.

    A failed page checksum is an OSError without errno; with one it is the disk or the network.
    """
    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise CorruptObject(f"{what}: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise CorruptObject(f"{what}: {error}") from error


def read_footer(store: ObjectStore, key: str) -> StoredFooter:
    """Read a segment's footer; raises CorruptObject, ObjectMissing."""
    with SegmentFile(store.open_input(key)) as segment:
        return segment.stored


def distinct_days(times: pa.ChunkedArray[Any]) -> list[int]:
    """Return the UTC days since 1970 that times are on, each once; null is on none."""
    days: list[int | None] = pc.unique(day_numbers(times)).to_pylist()
    return [day for day in days if day is not None]


def day_numbers(times: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """Turn times into the numbers of their UTC days since 1970."""
    return times.cast(pa.date32()).cast(pa.int32()).combine_chunks()


def check_segment(body: bytes) -> StoredFooter:
    """Check a whole segment in memory as opening it would, and return its footer."""
    with corruption_found("not a readable Parquet file"):
        metadata = pq.read_metadata(pa.BufferReader(body))
        stored = decode_footer(metadata.metadata)
        _checked_names(metadata, stored)
    sections_of(metadata, stored)
    return stored


def read_segment(store: ObjectStore, key: str) -> Mapping[Signal, pa.Table]:
    """Read a whole segment, a table per section that holds rows; for tests and small files."""
    with SegmentFile(store.open_input(key)) as segment:
        return {
            signal: pa.Table.from_batches(segment.batches(signal, 65_536))
            for signal in segment.signals
        }


def _checked_names(metadata: pq.FileMetaData, stored: StoredFooter) -> frozenset[str]:
    """Return the file's column names; raises CorruptObject if they are not the format's.

    Nothing but this finds a flipped bit in a column's name, which would read as a null column.
    """
    arrow_schema = metadata.schema.to_arrow_schema()
    version = stored.footer.format_version
    types, ids, optional = _format_columns(tuple(stored.rows_by_signal), stored.promoted, version)
    unknown = [
        f.name for f in arrow_schema if types.get(f.name) != f.type or ids[f.name] != field_id_of(f)
    ]
    missing = set(types).difference(arrow_schema.names, optional)
    if unknown or (missing and version == FORMAT_VERSION_MAX):
        raise CorruptObject(
            f"its columns are not those of the format: unknown {unknown}, missing {sorted(missing)}"
        )
    return frozenset(arrow_schema.names)


@lru_cache(maxsize=256)
def _format_columns(
    signals: tuple[Signal, ...], promoted: tuple[PromotedColumn, ...], version: int
) -> tuple[Mapping[str, pa.DataType], Mapping[str, int | None], frozenset[str]]:
    """Types and field ids of the columns of a file, by name, and the names that it may lack.

    Files of format 2 from before there were words have none.
    """
    stored = wide_stored(signals, promoted, version)
    columns = stored.columns
    types = {c.name: pa.string() if pa.types.is_dictionary(c.type) else c.type for c in columns}
    return types, {c.name: c.field_id for c in columns}, frozenset(stored.readable)
