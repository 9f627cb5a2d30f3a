"""`spark.read.format("segplane")` and `spark.readStream.format("segplane")`."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from segplane.read.errors import ReadError
from segplane.read.files.files import signals_of
from segplane.read.rows.columns import ReadColumns
from segplane.read.spark.batch import FilteringReader, SegplaneReader
from segplane.read.spark.options import read_options
from segplane.read.spark.rows import spark_schema
from segplane.read.spark.snapshot import Snapshot, open_snapshot
from segplane.read.spark.stream import SegplaneStreamReader, stream_columns
from segplane.read.spark.view import ViewReader, ViewSnapshot, open_view_snapshot


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
        signals = signals_of(options.signal)
        return spark_schema(ReadColumns(signals, self._snapshot.promoted, options.column_names()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of one query."""
        options = read_options(self.options)
        if options.view:
            view = self._view or open_view_snapshot(options, options.view)
            return ViewReader(options, view, schema)
        reader = FilteringReader if options.push_filters else SegplaneReader
        return reader(options, self._snapshot or open_snapshot(options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Make the reader of a stream."""
        options = read_options(self.options)
        if options.view:
            raise ReadError(
                f"there are no streams of views, and {options.view!r} is one: stream its datasets"
            )
        return SegplaneStreamReader(options, stream_columns(options, self._snapshot), schema)
