"""One dataset at one version, open for reading."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from meta.client import MetaClient
from meta.errors import VersionExpired
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from segments.signals import Signal
from segplane.read.bounds import Moment, TimeBounds, time_bounds
from segplane.read.connection import DEFAULT_ADDRESS, connect
from segplane.read.errors import ReadError, meta_refusals, sentence
from segplane.read.files import DatasetFile, find_files, signals_of
from segplane.read.fresh import FreshRecords, find_fresh
from segplane.read.pins import VersionPin

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyspark.sql import DataFrame, SparkSession

    from segplane.read.arrow_source import SegmentsDataset
    from segplane.read.columns import ReadColumns

__all__ = ["DEFAULT_ADDRESS", "OpenDataset", "open_dataset"]

Progress = Callable[[int, int], None]
_OWNER_CHARACTERS_MAX = 255
# Of a fresh reading that a nursery overtakes.
_TRIES_MAX = 5


def open_dataset(
    name: str,
    signal: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    columns: Sequence[str] | None = None,
    *,
    as_of: int | None = None,
    fresh: bool = False,
    meta_address: str | None = None,
    token: str | None = None,
    ca: str | Path | None = None,
    progress: Progress | None = None,
) -> OpenDataset:
    """Open a dataset at a version, the current one unless `as_of` names another.

    `start` and `end` are event times, [start, end): RFC 3339, an age such as "90m", an aware
    datetime, or nanoseconds. The version is kept from deletion until `close`. `fresh` adds what is
    committed and not merged yet: with it these are all records that were acknowledged before the
    call. `progress` is called with rows read and rows to read at most. Raises ReadError.
    """
    signals, bounds = signals_of(signal), time_bounds(start, end)
    for is_last in (*[False] * (_TRIES_MAX - 1), True):
        pin = _pinned(connect(meta_address, token, ca), name, as_of)
        try:
            with meta_refusals(pin.client):
                files = find_files(pin.client, name, pin.version, signals, bounds)
                promoted = _promoted_columns(pin)
                beyond = find_fresh(pin.client, pin.dataset_id, pin.version) if fresh else None
            access = {"token": token or "", "ca": str(ca or "")}
            dataset = OpenDataset(
                name, pin, signals, bounds, files, promoted, columns, progress, access, beyond
            )
            # Names of columns are checked where the columns are known: by pyarrow's schema.
            return dataset if columns is None else dataset.checked()
        except BaseException as error:
            pin.close()
            # A baby without stamps was merged since the pin: its routing is forgotten.
            if is_last or as_of is not None or not isinstance(error.__cause__, VersionExpired):
                raise
    raise AssertionError("the last try returns or raises")


def _pinned(client: MetaClient, name: str, as_of: int | None) -> VersionPin:
    try:
        with meta_refusals(client):
            return VersionPin.take(client, name, as_of, owner())
    except BaseException:
        client.close()
        raise


@dataclass(eq=False)
class OpenDataset:
    """A dataset at one version: its files, and ways to read them.

    Every way gives the same columns in the same order, whatever the files hold. Closed by `close`
    or `with`; what reads lazily must be read before.
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

    def __post_init__(self) -> None:
        self.pin.keep_for(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        """The last baby segment of each stream that is read beside the version, by its offset."""
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
        from segplane.read.columns import ReadColumns

        return ReadColumns(self.signals, self._promoted, self._column_names)

    def checked(self) -> Self:
        """Return itself; raises ReadError for a name that is no column."""
        assert self.columns
        return self

    def of_signal(self, signal: str) -> OpenDataset:
        """Return the records of one signal at the same version, with every column of it.

        It shares the pin: closing either closes both.
        """
        signals = signals_of(signal)
        files = tuple(
            file for file in self._files if file.signals is None or signals[0] in file.signals
        )
        return OpenDataset(
            self.name,
            self.pin,
            signals,
            self.bounds,
            files,
            self._promoted,
            None,
            self._progress,
            self._access,
            self.fresh,
        )

    def newest(self, limit: int) -> pa.Table:
        """Read the rows with the latest times, newest first; the dataset has every column."""
        from segplane.read.newest import newest_rows

        assert self._column_names is None, "rows are ordered by columns that must be there"
        with self._failures():
            return newest_rows(self, limit)

    def check(self) -> None:
        """Raise PinLost if the files may have been deleted."""
        self.pin.check()

    def files(self) -> tuple[DatasetFile, ...]:
        """Return the files that may hold rows asked for, with their bounds."""
        return self._files

    def to_arrow(self) -> ds.Dataset | pa.RecordBatchReader:
        """Return a pyarrow Dataset, or a reader of batches where files have to be converted.

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
        import polars as pl

        return pl.scan_pyarrow_dataset(self.source())

    def duckdb(
        self, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return a relation of DuckDB, and define our functions in its connection."""
        import duckdb

        from segplane.read.duckdb_functions import define_functions

        connection = duckdb.default_connection() if connection is None else connection
        define_functions(connection)
        return connection.from_arrow(self.source())

    def spark(self, session: SparkSession) -> DataFrame:
        """Return a data frame of Spark, by Spark's own Parquet reader where it reads the files.

        The version is kept until `close` or the end of the session's object.
        """
        if self.fresh is not None:
            raise ReadError("Spark reads no fresh records: open the dataset without `fresh`")
        from segplane.read.spark.native import data_frame

        self.pin.check()
        access = {key: value for key, value in self._access.items() if value}
        frame = data_frame(self, session, access | {"metaAddress": self.pin.client.target})
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
        from segplane.read.arrow_source import segments_dataset

        self.pin.check()
        return segments_dataset(self.columns, self.bounds, self._files, self.fresh, self.pin)

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


def _promoted_columns(pin: VersionPin) -> tuple[common_pb2.PromotedColumn, ...]:
    request = ops.GetDatasetSettingsRequest(dataset_id=pin.dataset_id)
    settings = pin.client.operations.GetDatasetSettings(request).settings
    return tuple(settings.promoted_columns.columns)


def owner() -> str:
    """Name this reader to operators, who list pins by it."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"[:_OWNER_CHARACTERS_MAX]
