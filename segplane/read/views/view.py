"""One view of the catalog, its datasets open at one version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from segplane.read.dataset import OpenDataset
from segplane.read.errors import ReadError, sentence

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kql.scope import CheckedQuery
    from kql.sql.engines import EngineName
    from kql.types import KqlType

_BATCH_ROWS = 10_000


@dataclass(eq=False)
class OpenView:
    """A view as it was defined when it was opened: the union over its links at one version.

    Every way of reading gives the same columns in the same order; timespans are nanoseconds, and
    dynamic values are JSON text. Closed by `close` or `with`; lazy results must be read before.
    """

    name: str
    datasets: tuple[OpenDataset, ...] = field(repr=False)
    state: CheckedQuery = field(repr=False)
    _stack: ExitStack = field(repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the datasets."""
        self._stack.close()

    @property
    def version(self) -> int:
        """The version at which all datasets are read."""
        return self.datasets[0].version

    @property
    def types(self) -> dict[str, KqlType]:
        """The types of the view's columns."""
        return dict(self.state.columns)

    @property
    def schema(self) -> pa.Schema:
        """The columns that every way of reading gives."""
        from segplane.read.views.view_types import arrow_schema

        return arrow_schema(self.types)

    def sql(self, engine: EngineName, names: dict[str, str] | None = None) -> str:
        """Return the view as one SELECT over tables named as its datasets, or by other names.

        Raises ReadError for functions that the engine does not have.
        """
        from kql.errors import KqlError
        from kql.sql.relations import tables_named, to_sql

        try:
            return to_sql(self.state, engine, tables_named(names or {}))
        except KqlError as error:
            raise ReadError(f"view {self.name!r}: {error}") from None

    def to_reader(self) -> pa.RecordBatchReader:
        """Return a reader of batches, computed by its own DuckDB; it can be read once."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import duckdb
        import pyarrow as pa

        from segments.errors import SegmentsError

        try:
            with duckdb.connect() as connection:
                connection.execute("SET TimeZone = 'UTC'")
                for batch in self.duckdb(connection).to_arrow_reader(_BATCH_ROWS):
                    yield batch.cast(self.schema)
        except (duckdb.Error, OSError, pa.ArrowException, SegmentsError) as error:
            for dataset in self.datasets:
                dataset.pin.verify()
            raise ReadError(
                f"view {self.name!r} at version {self.version} cannot be read: {sentence(error)}"
            ) from error

    def to_table(self) -> pa.Table:
        """Read everything into memory."""
        return self.to_reader().read_all()

    def pandas(self) -> pd.DataFrame:
        """Read everything into a data frame of pandas."""
        return self.to_table().to_pandas()

    def polars(self) -> pl.DataFrame:
        """Read everything into a data frame of Polars."""
        import polars as pl

        frame = pl.from_arrow(self.to_table())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def duckdb(
        self, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return a relation of DuckDB over tables that are registered in its connection.

        Its queries read the columns and the times that they need.
        """
        import duckdb

        connection = duckdb.default_connection() if connection is None else connection
        return connection.sql(self.register(connection)[0])

    def register(self, connection: Any) -> tuple[str, tuple[str, ...]]:
        """Register the datasets in a connection of DuckDB, under their own names.

        Return the SQL over them, and these names.
        """
        names = {dataset.name: f"segplane {self.name} {uuid4()}" for dataset in self.datasets}
        for dataset in self.datasets:
            connection.register(names[dataset.name], dataset.source())
        return self.sql("duckdb", names), tuple(names.values())

    def spark(self, session: SparkSession) -> DataFrame:
        """Return a data frame of Spark, each dataset by Spark's own Parquet reader if possible.

        The version is kept until `close` or the end of the session's object.
        """
        names = {dataset.name: f"segplane_{uuid4().hex}" for dataset in self.datasets}
        text = self.sql("spark", names).replace("{", "{{").replace("}", "}}")
        for name in names.values():
            text = text.replace(f"`{name}`", f"{{{name}}}")
        frames = {names[dataset.name]: dataset.spark(session) for dataset in self.datasets}
        return session.sql(text, **frames)  # type: ignore[arg-type]
