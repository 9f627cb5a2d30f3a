"""Writes one merged segment: a Parquet file on local disk, section after section.

Reading is in `segments.reader`; both ends of the format are offered from here.
"""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from segments.footer import SegmentFacts, SegmentFooter, StoredFooter, encode_footer
from segments.groups import GROUP_ROWS_MAX, GroupBuffer, HashingSink
from segments.reader import SegmentFile, read_footer, read_segment
from segments.schema import (
    SIGNALS,
    Column,
    SegmentSpec,
    Signal,
    file_sort_columns,
    section_schema,
    wide_columns,
    wide_schema,
)
from segments.sorting import sort_table
from segments.upload import upload_segment

__all__ = [
    "SegmentFacts",
    "SegmentFile",
    "SegmentFooter",
    "SegmentWriter",
    "read_footer",
    "read_segment",
    "sort_table",
    "upload_segment",
]

PAGE_BYTES = 64 * 1024
# The writer looks at the page's size only after so many values: 1,024 of 2 kB would be 2 MiB.
WRITE_BATCH_ROWS = 64
BLOOM_FALSE_POSITIVES = 0.01
_COMPRESSION_LEVEL = 3


class SegmentWriter:
    """Writes a segment's sections in the order of SIGNALS to a new local file.

    A file is complete only after `close`; leaving the `with` block without it removes the file.
    """

    def __init__(
        self,
        path: Path,
        signals: Iterable[Signal],
        spec: SegmentSpec,
        footer: SegmentFooter,
    ) -> None:
        """Open the file, which must not exist; its columns are those of `signals`."""
        present = set(signals)
        self._signals = tuple(s for s in SIGNALS if s in present)
        self._spec = spec
        self._footer = footer
        self._schema = wide_schema(self._signals, spec.promoted)
        self._order = file_sort_columns(spec, self._signals)
        self._sections = {s: section_schema(s, spec.promoted) for s in self._signals}
        self._rows: dict[Signal, int] = dict.fromkeys(self._signals, 0)
        self._times: list[int] = []
        self._buffer = GroupBuffer()
        self._signal: Signal | None = None
        self._metadata: list[pq.FileMetaData] = []
        self._sink = HashingSink(path)
        columns = wide_columns(self._signals, spec.promoted)
        self._writer = _open(self._sink, self._schema, columns, self._order, self._metadata)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._sink.closed:
            # Arrow's writer finishes its file when it is collected; it finishes nothing then.
            self._sink.abandon()
            self._writer.close()
            self._sink.close()

    def write(self, signal: Signal, table: pa.Table) -> None:
        """Append sorted rows to a section; the schema is `section_schema(signal, promoted)`.

        Sections come in the order of SIGNALS; one section may come in many calls.
        """
        schema = self._sections.get(signal)
        if schema is None or (self._signal and SIGNALS.index(signal) < SIGNALS.index(self._signal)):
            raise ValueError(f"section {signal} is out of order or not announced: {self._signals}")
        if table.schema != schema:
            raise ValueError(f"columns of {signal} are not those of the format: {table.schema}")
        if signal != self._signal:
            self._write_groups(self._buffer.flush())
            self._signal = signal
        for batch in table.to_batches():
            self._write_groups(self._buffer.push(batch))

    def close(self) -> SegmentFacts:
        """Write the footer and finish the file; a file must hold at least one row."""
        self._write_groups(self._buffer.flush())
        if not self._times:
            raise ValueError("a segment without rows is never written")
        stored = StoredFooter(
            self._footer,
            dict(self._rows),
            min(self._times),
            max(self._times),
            self._order,
            self._spec.promoted,
        )
        self._writer.add_key_value_metadata(encode_footer(stored))  # type: ignore[arg-type]
        self._writer.close()
        self._sink.close()
        (metadata,) = self._metadata
        groups = range(metadata.num_row_groups)
        return SegmentFacts(
            rows=stored.rows,
            rows_by_signal=stored.rows_by_signal,
            size_bytes=sum(metadata.row_group(i).total_byte_size for i in groups),
            compressed_size_bytes=self._sink.size_bytes,
            start_time=stored.start_time,
            end_time=stored.end_time,
            sha256=self._sink.sha256(),
        )

    def _write_groups(self, groups: Iterable[pa.RecordBatch]) -> None:
        """Write row groups of the current section, the other signals' columns null."""
        for group in groups:
            assert self._signal is not None
            self._note(self._signal, group)
            rows, names = group.num_rows, set(group.schema.names)
            columns = [
                group.column(f.name) if f.name in names else pa.nulls(rows, f.type)
                for f in self._schema
            ]
            self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=rows)

    def _note(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Count the rows and widen the hull; refuses rows that belong to no section or time."""
        times = batch.column("timestamp")
        found = pc.unique(batch.column("signal")).to_pylist()
        if times.null_count or found != [signal]:
            raise ValueError(f"section {signal} holds signal {found} or rows without a timestamp")
        hull = pc.min_max(times.cast(pa.int64()))
        self._times.extend((hull["min"].as_py(), hull["max"].as_py()))
        self._rows[signal] += batch.num_rows


def _open(
    sink: HashingSink,
    schema: pa.Schema,
    columns: Iterable[Column],
    order: Iterable[str],
    collector: list[pq.FileMetaData],
) -> pq.ParquetWriter:
    found = tuple(columns)
    keys = set(order)
    encoded = {c.name: c.encoding for c in found if c.encoding and not pa.types.is_nested(c.type)}
    bloom = {"ndv": GROUP_ROWS_MAX, "fpp": BLOOM_FALSE_POSITIVES}
    return pq.ParquetWriter(
        sink,  # type: ignore[arg-type]
        schema,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        use_dictionary=[c.name for c in found if c.encoding is None],  # type: ignore[arg-type]
        column_encoding=encoded,
        write_statistics=[c.name for c in found if c.has_statistics or c.name in keys],
        data_page_size=PAGE_BYTES,
        write_batch_size=WRITE_BATCH_ROWS,
        write_page_index=True,
        write_page_checksum=True,
        store_schema=False,
        bloom_filter_options={"trace_id": bloom} if "trace_id" in schema.names else None,
        sorting_columns=pq.SortingColumn.from_ordering(
            schema, [(name, "ascending") for name in order], null_placement="at_end"
        ),
        metadata_collector=collector,
    )
