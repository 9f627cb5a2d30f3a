"""Physical layout of a segment: encodings, pages, statistics, bloom filters, sort order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from segments.parquet.bounded import is_bounded
from segments.parquet.columns.field_ids import id_metadata, with_field_ids
from segments.parquet.columns.stored_columns import StoredColumns
from segments.parquet.row_groups import GROUP_ROWS_MAX, ChecksumSink
from segments.parquet.schema import Column

PAGE_BYTES = 64 * 1024
# The writer looks at a page's size only after so many values: 1,024 of 2 kB would be 2 MiB.
WRITE_BATCH_ROWS_MIN = 16
WRITE_BATCH_ROWS_MAX = 512
BLOOM_FALSE_POSITIVES = 0.01
# In pages of 64 KiB level 3 makes attributes with ids in them 5 % larger than level 1 does, other
# text up to 3 % smaller, and takes half as long again to write them.
COMPRESSION_LEVEL = 1
# Pages come as hundreds of small writes a row group, and each is a call into Python.
_SINK_BUFFER_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """Page sizes of a file, and the structures that let readers skip pages.

    `batch_rows` is after how many values the writer looks at a page's size. `bloom_values` are the
    ids that a filter is made for. A `is_small` file has one page a column: an index of pages
    would say nothing, and names and numbers are left as their dictionaries make them. In an
    `is_tiny` one only text is compressed: to begin and end a compression takes longer than it.
    """

    batch_rows: int
    page_bytes: int = PAGE_BYTES
    bloom_values: int = GROUP_ROWS_MAX
    is_small: bool = False
    is_tiny: bool = False
    has_dictionaries: bool = True
    is_compressed: bool = True


class WriterSettings:
    """Options of Arrow's writer for files with these columns; serves any number of files."""

    def __init__(
        self,
        stored: StoredColumns,
        order: Sequence[str],
        shape: Shape,
        deduplication: str = "",
        unrepeated: Collection[str] = (),
    ) -> None:
        """`order` is the order of the rows, by columns as they are in memory.

        `deduplication` is the column of the keys of events, "" = none. Columns that `unrepeated`
        names have no dictionary.
        """
        columns = [_plain(c) if c.name in unrepeated else c for c in stored.columns]
        self.schema = pa.schema(_stored_field(c, order, shape) for c in columns)
        flat = [c for c in columns if not pa.types.is_nested(c.type)]
        levels = {
            path: COMPRESSION_LEVEL
            for c in columns
            if _is_compressed(c, stored, shape)
            for path in _leaves(c)
        }
        bloom = {"ndv": shape.bloom_values, "fpp": BLOOM_FALSE_POSITIVES}
        self._options: dict[str, Any] = {
            # Columns that are not named here are not compressed.
            "compression": dict.fromkeys(levels, "zstd") or "none",
            "compression_level": levels or None,
            "use_dictionary": [
                c.name for c in columns if c.encoding is None and shape.has_dictionaries
            ],
            "column_encoding": {c.name: c.encoding for c in flat if c.encoding},
            "write_statistics": [
                c.name for c in columns if _has_statistics(c, order) and is_bounded(c.type)
            ],
            "data_page_size": shape.page_bytes,
            "write_batch_size": shape.batch_rows,
            "write_page_index": not shape.is_small,
            "write_page_checksum": True,
            "store_schema": False,
            "bloom_filter_options": {
                c.name: bloom for c in columns if c.has_bloom_filter or c.name == deduplication
            }
            or None,
            "sorting_columns": pq.SortingColumn.from_ordering(
                self.schema,
                [(name, "ascending") for name in stored.order(order)],
                null_placement="at_end",
            ),
        }

    def open(
        self, sink: pa.NativeFile, metadata: list[pq.FileMetaData], nulls: Collection[str] = ()
    ) -> pq.ParquetWriter:
        """Start a file; `metadata` gets its footer when it is closed.

        `nulls` are columns without a value, which then have no dictionary without values.
        """
        coded = [name for name in self._options["use_dictionary"] if name not in nulls]
        options = {**self._options, "use_dictionary": coded}
        return pq.ParquetWriter(sink, self.schema, metadata_collector=metadata, **options)


class ParquetLayout:
    """Writes tables that hold some of the file's columns; the others are null."""

    def __init__(
        self,
        sink: ChecksumSink,
        stored: StoredColumns,
        order: Sequence[str],
        first: pa.Table,
        deduplication: str = "",
        unrepeated: Collection[str] = (),
    ) -> None:
        """Start the file; `first` is its first row group, whose longest values size the pages.

        `deduplication` is the column of the keys of events, "" = none. Columns that `unrepeated`
        names have no dictionary.
        """
        shape = Shape(_write_batch_rows(first))
        settings = WriterSettings(stored, order, shape, deduplication, unrepeated)
        self._schema = settings.schema
        self._stored = stored
        self._metadata: list[pq.FileMetaData] = []
        self._buffered = pa.BufferedOutputStream(pa.PythonFile(sink, "w"), _SINK_BUFFER_BYTES)
        self._writer = settings.open(self._buffered, self._metadata)

    def write(self, table: pa.Table) -> None:
        """Write one row group."""
        rows = table.num_rows
        columns = dict(zip(table.schema.names, table.columns, strict=True))
        present = self._stored.with_words(self._stored.split(columns))
        # Columns without a value share one array for each type.
        valued = {name for name, column in present.items() if column.null_count < rows}
        absent = {f.type for f in self._schema if f.name not in valued}
        nulls = {type_: pa.nulls(rows, type_) for type_ in absent}
        stored = [
            _as(present[f.name], f.type) if f.name in valued else nulls[f.type]
            for f in self._schema
        ]
        self._writer.write_table(pa.table(stored, schema=self._schema), row_group_size=rows)

    def write_beside(self, content: bytes) -> int:
        """Write bytes between row groups, which Parquet's readers skip; returns their place."""
        start = self._buffered.tell()
        self._buffered.write(content)
        return start

    @property
    def size_bytes(self) -> int:
        """Bytes that are written so far."""
        return self._buffered.tell()

    def close(self, metadata: Mapping[bytes, bytes] | None = None) -> pq.FileMetaData:
        """Finish the file with this key-value metadata."""
        self._writer.add_key_value_metadata(dict(metadata or {}))  # type: ignore[arg-type]
        self._writer.close()
        self._buffered.flush()
        return self._metadata[0]


def _as(column: pa.ChunkedArray[Any], type_: pa.DataType) -> pa.ChunkedArray[Any]:
    return column if column.type == type_ else column.cast(type_)


def _plain(column: Column) -> Column:
    """Return a column of texts or whole numbers with an encoding in place of a dictionary."""
    if pa.types.is_dictionary(column.type):
        # Arrow reads texts of no other encoding as dictionaries, which merges and readers do.
        return replace(column, encoding="PLAIN")
    return replace(column, encoding="DELTA_BINARY_PACKED", is_compressed=False)


def _has_statistics(column: Column, order: Sequence[str]) -> bool:
    return column.has_statistics or column.name in order


def _is_compressed(column: Column, stored: StoredColumns, shape: Shape) -> bool:
    if not shape.is_compressed:
        return False
    if shape.is_small:
        return not _is_coded(column) and not (shape.is_tiny and _is_numeric(column))
    # A compression takes at least 17 us, and a row group of constants takes seven a column.
    return column.is_compressed or not stored.is_split


def _is_coded(column: Column) -> bool:
    """Return whether a column holds names, whole numbers or flags, which codes make small."""
    if pa.types.is_dictionary(column.type):
        return column.is_sortable
    return pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)


def _is_numeric(column: Column) -> bool:
    """Return whether a column holds numbers or times, or lists of them."""
    type_ = column.type.value_type if pa.types.is_list(column.type) else column.type
    return pa.types.is_primitive(type_)


def _stored_field(column: Column, order: Sequence[str], shape: Shape) -> pa.Field[Any]:
    type_ = _stored_type(column, order, shape)
    if column.field_id is not None:
        type_ = with_field_ids(type_, column.name)
    return pa.field(
        column.name,
        type_,
        nullable=not column.is_required,
        metadata=id_metadata(column.field_id),
    )


def _stored_type(column: Column, order: Sequence[str], shape: Shape) -> pa.DataType:
    # Arrow's writer makes the statistics of a dictionary again for every few values: as text, which
    # becomes the same Parquet dictionary, such a column took 6 ms a row group instead of 24.
    is_text = shape.is_small or _has_statistics(column, order)
    if pa.types.is_dictionary(column.type) and is_text:
        return pa.string()
    return column.type


def _leaves(column: Column) -> list[str]:
    """Name a column's leaves as Parquet does."""
    if not pa.types.is_list(column.type):
        return [column.name]
    element = f"{column.name}.list.element"
    members = column.type.value_type
    if not pa.types.is_struct(members):
        return [element]
    return [f"{element}.{member.name}" for member in members]


def _write_batch_rows(table: pa.Table) -> int:
    """Choose how many values of the longest column make a page and a little more.

    A batch just short of a page would make pages of two batches.
    """
    texts = [f.name for f in table.schema if pa.types.is_string(f.type)]
    longest = max((table[name].nbytes for name in texts), default=0) / max(1, table.num_rows)
    rows = int(PAGE_BYTES * 1.1 / max(1.0, longest))
    return max(WRITE_BATCH_ROWS_MIN, min(WRITE_BATCH_ROWS_MAX, rows))
