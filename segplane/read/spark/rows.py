"""Files, or parts of files, as batches of one Spark schema; executors run this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from segments.errors import SegmentsError
from segplane.read.bounds import TimeBounds
from segplane.read.errors import ReadError, sentence
from segplane.read.files.files import DatasetFile
from segplane.read.files.filesystems import fragment_of
from segplane.read.rows.adjusted import adjusted_batch, with_nanoseconds
from segplane.read.rows.arrow_source import row_filter
from segplane.read.rows.columns import ReadColumns
from segplane.read.rows.conversion import converted_batches

# An open file costs about as much as reading this.
OPEN_BYTES = 4 * 1024 * 1024
BATCH_ROWS = 65_536
# Slices of one file.
SLICES_MAX = 256


@dataclass(frozen=True, slots=True)
class FileSlice:
    """Row groups of a file: of `count` equal parts the one with this index."""

    file: DatasetFile
    index: int = 0
    count: int = 1


class SlicePartition(InputPartition):
    """The slices that one task reads."""

    def __init__(self, slices: tuple[FileSlice, ...]) -> None:
        super().__init__(None)
        self.slices = slices


def spark_schema(columns: ReadColumns) -> StructType:
    """The columns that were asked for, as Spark's."""
    return from_arrow_schema(columns.schema)


def check_schema(schema: StructType, columns: ReadColumns) -> None:
    """Raise ReadError unless a schema has columns of ours with their types."""
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    for field in arrow_schema:
        expected = columns.schema.field(field.name).type
        if field.type != expected:
            raise ReadError(f"column {field.name!r} is {expected}, not {field.type}")


def pack(
    files: Sequence[DatasetFile], columns: ReadColumns, partition_bytes: int
) -> list[InputPartition]:
    """Divide files into tasks of about as many bytes each."""
    slices: list[tuple[int, FileSlice]] = []
    for file in files:
        # A file that has to be converted is read from its beginning.
        is_whole = not columns.has_as_stored(file)
        count = 1 if is_whole else round(file.size_bytes / partition_bytes)
        count = min(max(1, count), SLICES_MAX)
        part = file.size_bytes // count + OPEN_BYTES
        slices += [(part, FileSlice(file, index, count)) for index in range(count)]
    partitions: list[InputPartition] = []
    waiting: list[FileSlice] = []
    size = 0
    for part, piece in slices:
        if waiting and size + part > partition_bytes + OPEN_BYTES:
            partitions.append(SlicePartition(tuple(waiting)))
            waiting, size = [], 0
        waiting.append(piece)
        size += part
    if waiting:
        partitions.append(SlicePartition(tuple(waiting)))
    return partitions


def read_slices(
    slices: Sequence[FileSlice],
    columns: ReadColumns,
    bounds: TimeBounds,
    schema: StructType,
    adjustment: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Read the rows asked for as batches of Spark's schema. Raises ReadError.

    The bounds are of times before the adjustment.
    """
    target = to_arrow_schema(schema, timezone="UTC")
    for piece in slices:
        where = row_filter(columns, bounds, [piece.file])
        try:
            for batch in _batches(piece, columns, where, has_nanos=adjustment != 0):
                if batch.num_rows:
                    if adjustment:
                        batch = adjusted_batch(batch, columns, adjustment)
                    yield _conformed(batch, target)
        except (OSError, pa.ArrowException, SegmentsError) as error:
            raise ReadError(f"{piece.file.url} cannot be read: {sentence(error)}") from error


def _batches(
    piece: FileSlice, columns: ReadColumns, where: pc.Expression | None, *, has_nanos: bool
) -> Iterator[pa.RecordBatch]:
    names = list(columns.names)
    names = with_nanoseconds(columns, names) if has_nanos else names
    if not columns.has_as_stored(piece.file):
        for batch in converted_batches(piece.file, columns):
            yield (batch if where is None else batch.filter(where)).select(names)
        return
    fragment = _fragment(piece, columns)
    if fragment is not None:
        yield from fragment.scanner(
            schema=columns.all, columns=names, filter=where, batch_size=BATCH_ROWS
        ).to_batches()


def _fragment(piece: FileSlice, columns: ReadColumns) -> Any:
    """The slice's row groups; None = it has none."""
    fragment = fragment_of(piece.file, partition_expression=columns.guarantee)
    if piece.count == 1:
        return fragment
    groups = fragment.num_row_groups
    first, after = (groups * n // piece.count for n in (piece.index, piece.index + 1))
    return fragment.subset(row_group_ids=list(range(first, after))) if first < after else None


def _conformed(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """Return a batch with Spark's fields, whose lists and structs may be named otherwise."""
    arrays = []
    for field in target:
        column = batch.column(field.name)
        arrays.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=target)
