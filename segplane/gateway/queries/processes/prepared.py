"""DuckDB that is open before a query comes: once in the launcher, then within a process's limits.

To open a database takes 20 ms of CPU, and the first query of a process 40 ms more, for what Python
and DuckDB compute once. The launcher does both, and the processes that it forks have it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import duckdb

from kql.dataset_table import dataset_table
from segments.signals import SIGNALS
from segplane.gateway.queries.processes.remote import open_empty
from segplane.gateway.queries.processes.wire import ProcessLimits
from segplane.query.column_types import duckdb_types
from segplane.query.engine import QueryLimits, RunningQuery, opened_connection, opened_query
from segplane.query.runs import Language, define_views, plan_over, write_result
from segplane.query.sources import QueryPlace
from segplane.read.rows.columns import ReadColumns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OVER_NOTHING: tuple[tuple[Language, str], ...] = (("kql", "print x = 1"), ("sql", "SELECT 1 AS x"))
# Much of what queries of a dataset use. It is opened and not run: a scan would start threads of
# Arrow's, and forks of a process with threads can hang.
_TABLE = "records"
_OVER_RECORDS = f"""{_TABLE}
    | where timestamp > ago(1h) and signal == 'logs' and body has 'text' and trace_id != ''
    | where toint(attributes['number']) >= 1
    | summarize count(), percentile(duration, 99)
        by bin(timestamp, 1m), service_name, text = tostring(attributes['text'])
    | sort by count_ desc, text asc | take 10"""


def open_database() -> DuckDBPyConnection:
    """Open an empty database without threads, so that a process with it may be forked."""
    return duckdb.connect(config={"threads": 1, "async_threads": 0})


def rehearse() -> None:
    """Run queries over nothing, and open one of a dataset; each locks its own database."""
    for language, text in _OVER_NOTHING:
        with _opened(text, language) as query:
            write_result(query, "json", 0, io.BytesIO())
    with _opened(_OVER_RECORDS, "kql"), open_database() as connection:
        duckdb_types(connection, ReadColumns(SIGNALS, (), None).all)


@contextmanager
def _opened(text: str, language: Language) -> Iterator[RunningQuery]:
    planned = plan_over({_TABLE: dataset_table(_TABLE)}, text, language, datetime.now(UTC))
    query_place, prepare = QueryPlace(opener=open_empty), define_views(planned)
    with (
        open_database() as connection,
        opened_query(planned, query_place, prepare=prepare, connection=connection) as query,
    ):
        yield query


@contextmanager
def prepared_connection(
    database: DuckDBPyConnection, limits: ProcessLimits
) -> Iterator[DuckDBPyConnection]:
    """Connect to the database in a process that was forked with it. Raises QueryError."""
    with opened_connection(query_limits(limits), database) as connection:
        connection.execute("RESET async_threads")
        connection.sql("SELECT 1").to_arrow_reader(1).read_all()
        yield connection


def query_limits(limits: ProcessLimits) -> QueryLimits:
    """Return the limits of DuckDB; the gateway keeps the time."""
    return QueryLimits(limits.memory_bytes, None, limits.threads, limits.spill_bytes)
