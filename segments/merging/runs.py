"""Sorted runs: rows in any order become pieces on local disk that are each in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from segments.parquet.row_groups import GroupBuffer
from segments.parquet.sorting import sort_by


@dataclass(frozen=True, slots=True)
class SortedRun:
    """One row group of a local file, sorted."""

    path: Path
    metadata: pq.FileMetaData
    row_group: int
    dictionaries: tuple[str, ...]

    def batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read the run in order, a batch at a time from the mapped file."""
        with pq.ParquetFile(
            self.path,
            metadata=self.metadata,
            memory_map=True,
            read_dictionary=list(self.dictionaries),
            page_checksum_verification=True,
        ) as file:
            yield from file.iter_batches(
                batch_size=batch_rows, row_groups=[self.row_group], use_threads=False
            )


def sorted_runs(
    batches: Iterator[pa.RecordBatch], names: Sequence[str], path: Path
) -> list[SortedRun]:
    """Write rows to a new local file in sorted runs of a row group's size each."""
    writer: pq.ParquetWriter | None = None
    metadata: list[pq.FileMetaData] = []
    schema: pa.Schema | None = None
    for group in _groups(batches):
        if writer is None:
            schema = group.schema
            writer = _open(path, schema, metadata)
        table = sort_by(group, names)
        writer.write_table(table, row_group_size=table.num_rows)
    if writer is None or schema is None:
        return []
    writer.close()
    dictionaries = tuple(f.name for f in schema if pa.types.is_dictionary(f.type))
    (written,) = metadata
    return [SortedRun(path, written, i, dictionaries) for i in range(written.num_row_groups)]


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Gather batches to row groups of the format's size."""
    buffer = GroupBuffer()
    for batch in batches:
        yield from buffer.push(batch)
    yield from buffer.flush()


def _open(path: Path, schema: pa.Schema, collector: list[pq.FileMetaData]) -> pq.ParquetWriter:
    strings = [f.name for f in schema if pa.types.is_dictionary(f.type)]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=strings,  # type: ignore[arg-type]
        write_statistics=False,
        write_page_checksum=True,
        metadata_collector=collector,
    )
