"""One dataset at one version, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from meta.v1 import common_pb2, operations_pb2
from segments.signals import Signal
from segplane.read.bounds import TimeBounds
from segplane.read.errors import ReadError, sentence
from segplane.read.files.files import DatasetFile, check_adjusted, signals_of
from segplane.read.files.left_out import LeftOut
from segplane.read.pins import VersionPin
from segplane.read.rows.fresh import FreshRecords

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyspark.sql import DataFrame, SparkSession

    from segplane.read.rows.arrow_source import SegmentsDataset
    from segplane.read.rows.columns import ReadColumns

Progress = Callable[[int, int], None]


@dataclass(eq=False)
class OpenDataset:
    """A dataset at one version: its files, and ways to read them.

    Every way gives the same columns in the same order, for all files. Closed by `close` or `with`;
    lazy results must be read before. `time_adjustment` are nanoseconds that are added to the times
    of the records; `bounds`, and those of the files, are of the times as they are stored.
    """

    name: str
    pin: VersionPin = field(repr=False)
    signals: tuple[Signal, ...]
    bounds: TimeBounds
    _files: tuple[DatasetFile, ...] = field(repr=False)
    _promoted: tuple[common_pb2.PromotedColumn, ...] = field(repr=False)
    _column_names: Sequence[str] | None = field(repr=False)
    _progress: Progress | None = field(repr=False, default=None)
    _access: Mapping[str, str] = field(repr=False, default_factory=dict)
    fresh: FreshRecords | None = field(repr=False, default=None)
    # Files of others without readable records, which are not read.
    left_out: tuple[LeftOut, ...] = field(repr=False, default=())
    # Hidden columns that files may have; None = not known.
    automatic_columns: operations_pb2.AutomaticColumns | None = field(repr=False, default=None)
    # A text that every body has that is read; "" = none.
    _body_text: str = field(repr=False, default="")
    time_adjustment: int = 0

    def __post_init__(self) -> None:
        check_adjusted(self.name, self._files, self.time_adjustment)
        self.pin.keep_for(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the pin and close the connection."""
        self.pin.close()

    @property
    def version(self) -> int:
        """The version that is read."""
        return self.pin.version

    @property
    def dataset_id(self) -> str:
        """The dataset's id."""
        return self.pin.dataset_id

    @property
    def cut(self) -> Mapping[str, int]:
        """Offset of each stream's last baby segment that is read in addition to the version."""
        return {} if self.fresh is None else self.fresh.cut

    @property
    def promoted_columns(self) -> tuple[common_pb2.PromotedColumn, ...]:
        """The dataset's promoted columns of today."""
        return self._promoted

    @property
    def schema(self) -> pa.Schema:
        """The columns that every way of reading gives."""
        return self.columns.schema

    @cached_property
    def columns(self) -> ReadColumns:
        """The columns, and the rules of which file has them as they are."""
        from kql.dataset_table import constants_of
        from segplane.read.rows.columns import ReadColumns

        constants = constants_of(self.name, self.dataset_id)
        return ReadColumns(self.signals, self._promoted, self._column_names, constants)

    def checked(self) -> Self:
        """Return itself; raises ReadError for a name that is not a column."""
        assert self.columns
        return self

    def of_signal(self, signal: str) -> OpenDataset:
        """Return the records of one signal at the same version, with every column of it.

        It shares the pin: closing either closes both.
        """
        signals = signals_of(signal)
        files = tuple(file for file in self._files if file.may_have(signals[0]))
        return replace(self, signals=signals, _files=files, _column_names=None)

    def body_has(self, text: str) -> OpenDataset:
        """Return the records whose body has a text as a term, as `has` of KQL, at the same version.

        Token indexes tell which files and rows of them may have it. It shares the pin: closing
        either closes both. Raises ReadError for metrics and traces, which have no body.
        """
        if "body" not in self.columns.all.names:
            raise ReadError(f"{' and '.join(self.signals)} have no body: open the logs")
        searched = replace(self, _body_text=text)
        searched.columns = self.columns
        return searched

    def newest(self, limit: int) -> pa.Table:
        """Read the rows with the latest times, newest first, with every column."""
        from segplane.read.rows.newest import newest_rows

        if self._column_names is not None:
            raise ReadError("newest rows have every column: open the dataset without `columns`")
        self._refuse_body_has("newest")
        with self._failures():
            rows = newest_rows(self.columns, self.bounds, self._files, self.fresh, self.pin, limit)
        if not self.time_adjustment:
            return rows
        from segplane.read.rows.adjusted import adjusted_table

        return adjusted_table(rows, self.columns, self.time_adjustment)

    def check(self) -> None:
        """Raise PinLost if the files may have been deleted."""
        self.pin.check()

    def files(self) -> tuple[DatasetFile, ...]:
        """Return the files that may hold rows asked for, with their bounds."""
        return self._files

    def to_arrow(self) -> ds.Dataset | pa.RecordBatchReader:
        """Return a pyarrow Dataset, or a reader of batches if files have to be converted.

        These are files of format 1 and files that lack a promoted column; and fresh records.
        """
        return self.source() if self._source().is_arrows_own else self.to_reader()

    def to_reader(self) -> pa.RecordBatchReader:
        """Return a reader of batches; it can be read once."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def to_table(self) -> pa.Table:
        """Read everything into memory."""
        return self.to_reader().read_all()

    def pandas(self) -> pd.DataFrame:
        """Read everything into a data frame of pandas."""
        return self.to_table().to_pandas()

    def polars(self) -> pl.LazyFrame:
        """Return a lazy frame of Polars, which reads the columns and rows that its query needs."""
        from segplane.read.rows.polars_frames import lazy_frame

        return lazy_frame(self.source())

    def duckdb(
        self, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return a relation of DuckDB, and define our functions in its connection."""
        import duckdb

        from segplane.read.rows.duckdb_functions import define_functions

        connection = duckdb.default_connection() if connection is None else connection
        define_functions(connection)
        return connection.from_arrow(self.source())

    def spark(self, session: SparkSession) -> DataFrame:
        """Return a data frame of Spark, by Spark's own Parquet reader if it can read the files.

        The version is kept until `close` or the end of the session's object.
        """
        if self.fresh is not None:
            raise ReadError("Spark reads no fresh records: open the dataset without `fresh`")
        self._refuse_body_has("spark")
        from segplane.read.spark.native import Extent, data_frame

        self.pin.check()
        access = {key: value for key, value in self._access.items() if value}
        extent = Extent(
            self.name,
            self.version,
            self.signals,
            self.bounds,
            self.columns,
            self._files,
            self.time_adjustment,
        )
        frame = data_frame(extent, session, access | {"metaAddress": self.pin.client.target})
        self.pin.keep_for(session, is_lazy=True)
        return frame

    def source(self) -> SegmentsDataset:
        """Return the rows as something that queries with pyarrow's Dataset protocol.

        For readers that use `schema` and `scanner` alone.
        """
        source = self._source()
        self.pin.keep_for(source, is_lazy=True)
        return source

    def _source(self) -> SegmentsDataset:
        from segplane.read.rows.arrow_source import segments_dataset

        self.pin.check()
        source = segments_dataset(
            self.columns, self.bounds, self._files, self.fresh, self.pin, self._body_text
        )
        if not self.time_adjustment:
            return source
        from segplane.read.rows.adjusted import adjusted_dataset

        return adjusted_dataset(source, self.columns, self.pin, self.time_adjustment)

    def _refuse_body_has(self, name: str) -> None:
        if self._body_text:
            raise ReadError(f"{name} does not search bodies: ask the dataset without `body_has`")

    def _batches(self) -> Iterator[pa.RecordBatch]:
        rows, rows_max = 0, sum(file.rows for file in self._files)
        rows_max += 0 if self.fresh is None else self.fresh.rows
        with self._failures():
            for batch in self._source().scanner().to_batches():
                rows += batch.num_rows
                if self._progress is not None:
                    self._progress(rows, rows_max)
                yield batch

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what fails while files are read into one sentence."""
        import pyarrow as pa

        from segments.errors import SegmentsError

        try:
            yield
        except (OSError, pa.ArrowException, SegmentsError) as error:
            self.pin.verify()
            raise ReadError(
                f"dataset {self.name!r} at version {self.version} cannot be read: {sentence(error)}"
            ) from error
