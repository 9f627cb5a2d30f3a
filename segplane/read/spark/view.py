"""A view in Spark: each task computes what one link gives of some files, by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from meta.client import MetaClient
from segments.signals import SIGNALS
from segplane.read.errors import ReadError, meta_refusals, sentence
from segplane.read.files.left_out import find_readable
from segplane.read.pins import release_pin
from segplane.read.rows.columns import ReadColumns
from segplane.read.spark.options import SourceOptions
from segplane.read.spark.rows import (
    BATCH_ROWS,
    FileSlice,
    SlicePartition,
    pack,
    read_slices,
    spark_schema,
)
from segplane.read.spark.snapshot import (
    Snapshot,
    kept,
    renewed,
    snapshot_of,
)
from segplane.read.views.view_opening import view_state
from segplane.read.views.view_types import arrow_schema

if TYPE_CHECKING:
    from kql.pushdown.reads import DatasetRead
    from kql.scope import CheckedQuery

# The files' rows, as the SQL of a link names them.
_ROWS = "segplane rows"


@dataclass(frozen=True, slots=True)
class LinkRead:
    """The part of a dataset that a link reads, and the SQL of DuckDB that makes rows of it."""

    read: DatasetRead
    sql: str


@dataclass(frozen=True, slots=True)
class ViewSnapshot:
    """A view as it was defined, and the pinned version of each of its datasets, by name."""

    schema: pa.Schema
    links: tuple[LinkRead, ...]
    datasets: Mapping[str, Snapshot]


class LinkPartition(InputPartition):
    """The slices of files that one task reads for one link."""

    def __init__(self, link: int, slices: Sequence[FileSlice]) -> None:
        super().__init__(None)
        self.link = link
        self.slices = tuple(slices)


def open_view_snapshot(options: SourceOptions, view: str) -> ViewSnapshot:
    """Compile a view and pin its datasets at one version. Raises ReadError."""
    # sqlglot takes long to import, and executors need none of it.
    from kql.queries import links_of

    with options.client() as client, meta_refusals(client):
        state = view_state(client, view, options.column_names())
        links = tuple(_link(link) for link in links_of(state))
        names = dict.fromkeys(link.read.name for link in links)
        return ViewSnapshot(arrow_schema(state.columns), links, _pinned(client, options, names))


def _link(link: CheckedQuery) -> LinkRead:
    from kql.pushdown.reads import reads_of
    from kql.sql.relations import tables_named, to_sql

    (read,) = reads_of(link)
    return LinkRead(read, to_sql(link, "duckdb", tables_named({read.name: _ROWS})))


def _pinned(
    client: MetaClient, options: SourceOptions, names: Mapping[str, None]
) -> dict[str, Snapshot]:
    snapshots: dict[str, Snapshot] = {}
    version = options.version
    try:
        for name in names:
            snapshots[name] = snapshot_of(client, replace(options, dataset=name, version=version))
            version = snapshots[name].version
    except BaseException:
        for snapshot in snapshots.values():
            release_pin(client, snapshot.pin_id)
        raise
    return snapshots


class ViewReader(DataSourceReader):
    """Plans and reads one query over a view; Spark sends it to executors."""

    def __init__(self, options: SourceOptions, snapshot: ViewSnapshot, schema: StructType) -> None:
        self._options = options
        self._snapshot = snapshot
        self._target = to_arrow_schema(schema, timezone="UTC")
        for field in self._target:
            index = snapshot.schema.get_field_index(field.name)
            if index < 0 or snapshot.schema.field(index).type != field.type:
                raise ReadError(f"the view has no column {field.name!r} of type {field.type}")

    def partitions(self) -> Sequence[InputPartition]:
        """List the files of each link, divided into tasks."""
        options, partitions = self._options, list[InputPartition]()
        with options.client() as client, meta_refusals(client):
            datasets = {
                name: renewed(client, replace(options, dataset=name), snapshot)
                for name, snapshot in self._snapshot.datasets.items()
            }
            self._snapshot = replace(self._snapshot, datasets=datasets)
            for number, link in enumerate(self._snapshot.links):
                snapshot = datasets[link.read.name]
                bounds = snapshot.bounds.within(*link.read.nanos())
                name, version = link.read.name, snapshot.version
                files = find_readable(client, name, version, SIGNALS, bounds)
                tasks = pack(files, self._columns(link), options.partition_bytes)
                partitions += [
                    LinkPartition(number, task.slices)
                    for task in tasks
                    if isinstance(task, SlicePartition)
                ]
        return partitions

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's files and compute the view's rows of them."""
        if not isinstance(partition, LinkPartition):
            # Spark makes one if there is none.
            return
        link = self._snapshot.links[partition.link]
        columns, snapshot = self._columns(link), self._snapshot.datasets[link.read.name]
        bounds = snapshot.bounds.within(*link.read.nanos())
        options = replace(self._options, dataset=link.read.name)
        with kept(options, snapshot) as check:
            slices, schema = partition.slices, spark_schema(columns)
            rows = pa.RecordBatchReader.from_batches(
                columns.schema, read_slices(slices, columns, bounds, schema)
            )
            for batch in _computed(link.sql, rows):
                check()
                yield batch.select(self._target.names).cast(self._target)

    def _columns(self, link: LinkRead) -> ReadColumns:
        promoted = self._snapshot.datasets[link.read.name].promoted
        return ReadColumns(SIGNALS, promoted, link.read.columns)


def _computed(sql: str, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        import duckdb
    except ImportError:
        raise ReadError("DuckDB computes views: install duckdb where executors run") from None
    try:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            # A task has one core.
            connection.execute("SET threads = 1")
            connection.register(_ROWS, rows)
            yield from connection.sql(sql).to_arrow_reader(BATCH_ROWS)
    except duckdb.Error as error:
        raise ReadError(f"the view cannot be computed: {sentence(error)}") from error
