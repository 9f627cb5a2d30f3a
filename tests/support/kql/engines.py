"""DuckDB and Spark as they run translated queries over the same rows."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Protocol

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

from kql.queries import compile_query
from kql.sql.relations import to_sql
from kql.types import KqlType
from tests.support.kql.rows import COLUMNS, NOON, ROWS, TABLE

NOW_MICROS = int(NOON.timestamp()) * 1_000_000
Rows = list[tuple[Any, ...]]

_ARROW: dict[KqlType, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "real": pa.float64(),
    "string": pa.string(),
    "datetime": pa.timestamp("us", "UTC"),
    "timespan": pa.int64(),
    "guid": pa.string(),
    "dynamic": pa.string(),
}
_SPARK: dict[KqlType, str] = {
    "bool": "boolean",
    "int": "int",
    "long": "bigint",
    "real": "double",
    "string": "string",
    "datetime": "timestamp",
    "timespan": "bigint",
    "guid": "string",
    "dynamic": "string",
}


class Engine(Protocol):
    """An engine that runs a query and gives plain rows."""

    def run(self, query: str) -> Rows: ...


class DuckDb:
    """DuckDB with a session time zone that is not UTC."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'America/New_York'")
        fields = [pa.field(name, _ARROW[type_]) for name, type_ in COLUMNS.items()]
        columns = [
            pa.array(c, f.type) for c, f in zip(zip(*ROWS, strict=True), fields, strict=True)
        ]
        self.connection.register("arrow", pa.table(columns, schema=pa.schema(fields)))
        self.connection.execute('CREATE TABLE "rows" AS SELECT * FROM arrow')

    def run(self, query: str) -> Rows:
        """Run a query in KQL."""
        sql = to_sql(compile_query(query, {"rows": TABLE}, NOW_MICROS), "duckdb")
        return plain(self.connection.execute(sql).fetchall())


class Spark:
    """Spark SQL with a session time zone that is not UTC."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        session.conf.set("spark.sql.session.timeZone", "America/New_York")
        schema = ", ".join(f"`{name}` {_SPARK[type_]}" for name, type_ in COLUMNS.items())
        session.createDataFrame(ROWS, schema).coalesce(1).createOrReplaceTempView("rows")

    def run(self, query: str) -> Rows:
        """Run a query in KQL."""
        sql = to_sql(compile_query(query, {"rows": TABLE}, NOW_MICROS), "spark")
        return plain(tuple(row) for row in self._session.sql(sql).collect())


def plain(rows: Iterable[tuple[Any, ...]]) -> Rows:
    """Return rows with values that compare: aware times, NaN as a text."""
    return [tuple(_plain(value) for value in row) for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, datetime):
        # Spark gives local times without a zone, DuckDB times in its session's.
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value
