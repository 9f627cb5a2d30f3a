"""One query in its own DuckDB: limits, interruption, batches of rows."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from segplane.query.errors import QueryError, QueryStopped
from segplane.query.plan import QueryPlan
from segplane.query.quoting import literal
from segplane.query.results.arrow_values import with_unique_names
from segplane.query.results.duckdb_types import forms, with_arrow_types
from segplane.query.results.forms import form_of
from segplane.query.sources import (
    DatasetSource,
    QueryPlace,
    direct_paths,
    open_sources,
    read_within,
)
from segplane.read.bounds import TimeBounds

# Arrow's words for a bucket that does not answer, behind which curl says why.
_NO_ANSWER = re.compile(r"AWS Error (?:NETWORK_CONNECTION|REQUEST_TIMEOUT|SLOW_DOWN).*")
_WHY = re.compile(r"curlCode: \d+, ([^;.]+)")
# DuckDB's and Arrow's words for an object of a folder.
_NO_FILE = re.compile(
    r"(?:Cannot open file|Failed to open local file|No files found that match the pattern)"
    r" [\"']([^\"']+)[\"']"
)
# DuckDB's words for a name that is not a column.
_NO_COLUMN = re.compile(r"[Cc]olumn \"([^\"]+)\" not found in FROM clause")
# The text that Arrow adds to a Python error, at the end of its first line.
_TRACEBACK = " Detail: Python exception:"

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS = 10_000
SPILL_BYTES_MAX = 10 * 2**30
_POLL_SECS = 0.1
Result = TypeVar("Result")
# Called with the share that is done, 0 to 100, or below 0 if DuckDB cannot say.
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a query: DuckDB's buffers, seconds until its last row, threads, spilled bytes.

    None = no limit; of threads, one a core.
    """

    memory_bytes: int | None = None
    timeout_secs: float | None = None
    threads: int | None = None
    spill_bytes: int = SPILL_BYTES_MAX


class RunningQuery:
    """A query whose tables are open. Its calls may be made from one thread."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        plan: QueryPlan,
        sources: tuple[DatasetSource, ...],
        limits: QueryLimits,
        progress: Progress | None,
    ) -> None:
        self.plan = plan
        self.sources = sources
        self._connection = connection
        self._limits = limits
        self._progress = progress
        self._deadline = (
            None if limits.timeout_secs is None else time.monotonic() + limits.timeout_secs
        )
        # DuckDB runs in another thread, so that this one can react to signals and to the deadline.
        self._worker = ThreadPoolExecutor(1, "segplane-query")

    def reader(self) -> pa.RecordBatchReader:
        """Run the query; its reader raises QueryError too."""
        return self.result()[0]

    def result(self, sql: str = "") -> tuple[pa.RecordBatchReader, list[pa.DataType]]:
        """Run the query; return its reader, which raises QueryError too, and its columns' forms.

        `sql` is a statement with the same columns to run in its place.
        """
        import pyarrow as pa

        reader, column_forms = self.call(lambda: self._opened(sql or self.plan.sql))
        batches = pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))
        return with_unique_names(batches), column_forms

    def _opened(self, sql: str) -> tuple[pa.RecordBatchReader, list[pa.DataType]]:
        relation = self._connection.sql(sql)
        columns = self.plan.columns
        if columns is None:
            reader = with_arrow_types(relation).to_arrow_reader(BATCH_ROWS)
            return reader, forms(relation, reader.schema)
        reader = relation.to_arrow_reader(BATCH_ROWS)
        return reader, [
            form_of(field.type, type_)
            for field, type_ in zip(reader.schema, columns.values(), strict=True)
        ]

    def read_within(self, bounds: TimeBounds) -> None:
        """Limit tables to files with times within bounds, where it can. Raises QueryError."""
        for source in self.sources:
            self.call(partial(read_within, self._connection, source, bounds))

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Return the rows of another statement over the same tables. Raises QueryError."""
        return self.call(lambda: self._connection.sql(sql).fetchall())

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        batches = iter(reader)
        while (batch := self.call(lambda: next(batches, None))) is not None:
            yield batch

    def call(self, statement: Callable[[], Result]) -> Result:
        """Run one call of DuckDB within the limits. Raises QueryError."""
        with _refusals(self._limits, self.plan.names):
            return self._waited(self._worker.submit(statement))

    def _waited(self, running: Future[Result]) -> Result:
        try:
            while not _is_done(running):
                if self._deadline is not None and time.monotonic() > self._deadline:
                    self._interrupt(running)
                    raise QueryStopped(
                        f"the query took longer than {self._limits.timeout_secs:g} s:"
                        " ask for less time or fewer columns, or raise the limit"
                    )
                if self._progress is not None:
                    self._progress(self._connection.query_progress())
        except KeyboardInterrupt:
            self._interrupt(running)
            raise QueryStopped("the query was interrupted") from None
        return running.result()

    def _interrupt(self, running: Future[Result]) -> None:
        """Stop what runs, and wait for it: its connection is closed next."""
        while not _is_done(running):
            self._connection.interrupt()

    def close(self) -> None:
        """Wait for the thread."""
        self._worker.shutdown()


def _is_done(running: Future[Result]) -> bool:
    """Wait a moment, and tell whether a call has ended."""
    try:
        running.exception(_POLL_SECS)
    except TimeoutError:
        return False
    return True


@contextmanager
def opened_query(
    plan: QueryPlan,
    query_place: QueryPlace,
    limits: QueryLimits | None = None,
    progress: Progress | None = None,
    prepare: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    connection: duckdb.DuckDBPyConnection | None = None,
) -> Iterator[RunningQuery]:
    """Open the tables of a query at one version. Raises QueryError.

    `prepare` defines further views over the tables. `connection` is one of `opened_connection` with
    the same limits, for this query alone. The statement itself has no way to any file but those of
    the tables.
    """
    limits = limits or QueryLimits()
    with ExitStack() as stack:
        if connection is None:
            connection = stack.enter_context(opened_connection(limits))
        with _refusals(limits):
            sources = open_sources(connection, plan.reads, query_place, stack)
            if prepare is not None:
                prepare(connection)
            _lock(connection, sources)
        query = RunningQuery(connection, plan, sources, limits, progress)
        stack.callback(query.close)
        yield query


@contextmanager
def opened_connection(
    limits: QueryLimits, database: duckdb.DuckDBPyConnection | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB within limits, or connect to `database`, which gets them. Raises QueryError."""
    import duckdb

    with (
        tempfile.TemporaryDirectory(prefix="segplane-query-") as folder,
        duckdb.connect() if database is None else database.cursor() as connection,
    ):
        with _refusals(limits):
            _configure(connection, folder, limits)
        yield connection


def _configure(connection: duckdb.DuckDBPyConnection, folder: str, limits: QueryLimits) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = true")
    connection.execute("SET enable_progress_bar_print = false")
    connection.execute(f"SET temp_directory = {literal(folder)}")
    connection.execute(f"SET max_temp_directory_size = '{limits.spill_bytes}B'")
    if limits.memory_bytes is not None:
        connection.execute(f"SET memory_limit = '{limits.memory_bytes}B'")
    if limits.threads is not None:
        connection.execute(f"SET threads = {limits.threads}")


def _lock(connection: duckdb.DuckDBPyConnection, sources: tuple[DatasetSource, ...]) -> None:
    """Leave the connection no way out but to the files of the sources."""
    paths = ", ".join(map(literal, direct_paths(sources)))
    connection.execute(f"SET allowed_paths = [{paths}]")
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


@contextmanager
def _refusals(limits: QueryLimits, names: Sequence[str] = ()) -> Iterator[None]:
    """Turn DuckDB's errors, and those of the sources it reads, into one line."""
    import duckdb
    import pyarrow as pa

    from segments.errors import SegmentsError
    from segplane.read import ReadError

    try:
        yield
    except duckdb.OutOfMemoryException:
        limit = "this machine has" if limits.memory_bytes is None else "it is allowed"
        raise QueryStopped(
            f"the query needs more memory than {limit}: ask for less time, fewer columns or groups,"
            " or raise the limit"
        ) from None
    except (duckdb.Error, pa.ArrowException, OSError, ReadError, SegmentsError) as error:
        raise QueryError(_failure(error, names)) from error


def _failure(error: BaseException, names: Iterable[str] = ()) -> str:
    """Return one line for an error of DuckDB, Arrow or a store; `names` are those of columns."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0].partition(_TRACEBACK)[0] if lines else type(error).__name__
    if _NO_ANSWER.search(line):
        why = _WHY.search(line)
        reason = f" ({why[1].strip()})" if why else ""
        return (
            f"the object store does not answer{reason}: ask again, or check that it runs and that"
            " this machine reaches its endpoint"
        )
    if match := _NO_FILE.search(line):
        return (
            f"the object store has no {match[1]}: check that its folder is mounted on this machine,"
            " then look for damage with `segplane fsck`"
        )
    if column := _NO_COLUMN.search(line):
        closest = get_close_matches(column[1], list(names), 1)
        hint = f"did you mean {closest[0]!r}? " if closest else ""
        return f"the query failed: {line.rstrip('!')}: {hint}texts have single quotes"
    return f"the query failed: {line}"
