"""`spark.read.format("segplane")` and `spark.readStream.format("segplane")`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from segplane.read.errors import ReadError, meta_refusals
from segplane.read.files.files import check_adjusted
from segplane.read.files.left_out import find_readable
from segplane.read.rows.columns import ReadColumns
from segplane.read.spark.options import SourceOptions, read_options
from segplane.read.spark.rows import SlicePartition, check_schema, pack, read_slices, spark_schema
from segplane.read.spark.snapshot import Snapshot, kept, open_snapshot, renewed
from segplane.read.spark.stream import SegplaneStreamReader, stream_columns
from segplane.read.spark.view import ViewReader, ViewSnapshot, open_view_snapshot

if TYPE_CHECKING:
    import pyarrow as pa


class SegplaneReader(DataSourceReader):
    """Plans and reads one query; Spark sends it to executors."""

    def __init__(self, options: SourceOptions, snapshot: Snapshot, schema: StructType) -> None:
        self._options = options
        self._snapshot = snapshot
        self._schema = schema
        check_schema(schema, self._columns())

    def partitions(self) -> Sequence[InputPartition]:
        """List the files that can hold such rows, divided into tasks."""
        options, columns = self._options, self._columns()
        with options.client() as client, meta_refusals(client):
            self._snapshot = renewed(client, options, self._snapshot)
            snapshot = self._snapshot
            name, version = snapshot.dataset_name, snapshot.version
            files = find_readable(client, name, version, columns.signals, snapshot.bounds)
            check_adjusted(name, files, snapshot.time_adjustment)
        if options.converted_only:
            files = tuple(file for file in files if not columns.has_as_stored(file))
        return pack(files, columns, options.partition_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's files."""
        if not isinstance(partition, SlicePartition):
            # Spark makes one if there is none.
            return
        columns, bounds = self._columns(), self._snapshot.bounds
        options, snapshot = self._options, self._snapshot
        with kept(options, snapshot) as check:
            slices, nanos = partition.slices, snapshot.time_adjustment
            for batch in read_slices(slices, columns, bounds, self._schema, nanos):
                check()
                yield batch

    def _columns(self) -> ReadColumns:
        return self._snapshot.columns(self._options.signal, self._schema.names)


class SegplaneSource(DataSource):
    """A dataset or a view. A data frame reads the version that it was loaded at.

    With a schema of the caller's, Spark asks for none: each query then reads its own version.
    """

    # Kept by Spark from the request of the schema to the planning of queries.
    _snapshot: Snapshot | None = None
    _view: ViewSnapshot | None = None

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "segplane"

    def schema(self) -> StructType:
        """The columns of today, or those that were asked for."""
        options = read_options(self.options)
        if options.view:
            self._view = open_view_snapshot(options, options.view)
            return from_arrow_schema(self._view.schema)
        self._snapshot = open_snapshot(options)
        return spark_schema(self._snapshot.columns(options.signal, options.column_names()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of one query."""
        options = read_options(self.options)
        if options.view:
            view = self._view or open_view_snapshot(options, options.view)
            return ViewReader(options, view, schema)
        return SegplaneReader(options, self._snapshot or open_snapshot(options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Make the reader of a stream."""
        options = read_options(self.options)
        if options.view:
            raise ReadError(
                f"there are no streams of views, and {options.view!r} is one: stream its datasets"
            )
        if options.adjust_time != "false":
            raise ReadError("a stream has times as they are stored: leave adjustTime out")
        return SegplaneStreamReader(options, stream_columns(options, self._snapshot), schema)
