"""A query over a dataset at one version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from segplane.read.errors import meta_refusals
from segplane.read.files.files import signals_of
from segplane.read.files.left_out import find_readable
from segplane.read.rows.columns import ReadColumns
from segplane.read.spark.filters import Term, expression, narrow, terms_of
from segplane.read.spark.options import SourceOptions
from segplane.read.spark.rows import SlicePartition, check_schema, pack, read_slices
from segplane.read.spark.snapshot import Snapshot, kept, renewed

if TYPE_CHECKING:
    import pyarrow as pa


class SegplaneReader(DataSourceReader):
    """Plans and reads one query; Spark sends it to executors."""

    def __init__(self, options: SourceOptions, snapshot: Snapshot, schema: StructType) -> None:
        self._options = options
        self._snapshot = snapshot
        self._schema = schema
        self._terms: tuple[Term, ...] = ()
        check_schema(schema, self._columns())

    def partitions(self) -> Sequence[InputPartition]:
        """List the files that can hold such rows, divided into tasks."""
        options, columns = self._options, self._columns()
        with options.client() as client, meta_refusals(client):
            self._snapshot = renewed(client, options, self._snapshot)
            snapshot = self._snapshot
            narrowed = narrow(self._terms, snapshot.bounds, columns.signals)
            if narrowed.bounds is None:
                return []
            name, version = snapshot.dataset_name, snapshot.version
            files = find_readable(client, name, version, narrowed.signals, narrowed.bounds)
        if options.converted_only:
            files = tuple(file for file in files if not columns.has_as_stored(file))
        return pack(files, columns, options.partition_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's files."""
        if not isinstance(partition, SlicePartition):
            # Spark makes one if there is none.
            return
        columns, bounds = self._columns(), self._snapshot.bounds
        where = expression(self._terms, columns.all)
        options, snapshot = self._options, self._snapshot
        with kept(options, snapshot) as check:
            for batch in read_slices(partition.slices, columns, bounds, where, self._schema):
                check()
                yield batch

    def _columns(self) -> ReadColumns:
        signals = signals_of(self._options.signal)
        return ReadColumns(signals, self._snapshot.promoted, self._schema.names)


class FilteringReader(SegplaneReader):
    """Leaves out files that a query's filters exclude.

    Spark 4.3 keeps one plan for all uses of a data frame, that of the filters which were pushed
    last, so only a frame that is used once, with one filter, may be read like this.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take the filters that narrow the read; Spark applies all of them again."""
        self._terms = terms_of(filters, self._columns().all)
        return filters
