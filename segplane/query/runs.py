"""One query from its text to its output."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TYPE_CHECKING, Literal

from meta.client import MetaClient
from segplane.query.engine import Progress, QueryLimits, RunningQuery, opened_query
from segplane.query.errors import QueryError, QueryWarning
from segplane.query.explain import explanation
from segplane.query.plan import QueryPlan, plan_kql
from segplane.query.results import output
from segplane.query.results.output import BINARY, Format
from segplane.query.sources import QueryPlace
from segplane.query.sql.sql import is_sql, plan_sql, view_statements
from segplane.query.tables import CatalogTables, NamedTable

if TYPE_CHECKING:
    import duckdb

Language = Literal["kql", "sql"]
_BAR = 30


@dataclass(frozen=True, slots=True)
class Ask:
    """A caller's options; language None tells KQL and SQL apart by the text."""

    language: Language | None
    format: Format
    target: QueryPlace
    limits: QueryLimits
    rows_max: int
    is_explained: bool = False


def plan(
    client: MetaClient,
    text: str,
    language: Language | None,
    now: datetime,
    *,
    as_of: int | datetime | None = None,
    is_fresh: bool = False,
) -> QueryPlan:
    """Check and plan a query; at a version or a time, by the names and columns of then.

    Raises QueryError, MetaError.
    """
    tables = CatalogTables(client, as_of)
    planned = plan_over(tables, text, language, now)
    if is_fresh and tables.members:
        raise QueryError("there are no fresh records of all datasets of a group: leave out --fresh")
    if is_fresh and tables.views:
        raise QueryError(
            f"there are no fresh views, and {tables.views[0]!r} is one: ask its datasets, or leave"
            " out --fresh"
        )
    return planned


def plan_over(
    tables: Mapping[str, NamedTable],
    text: str,
    language: Language | None,
    now: datetime,
    group: str = "",
) -> QueryPlan:
    """Check and plan a query over these tables. Raises QueryError.

    `group` is that of datasets which KQL names without one, "" the default group.
    """
    if language == "sql" or (language is None and is_sql(text)):
        return plan_sql(text, tables)
    return plan_kql(text, tables, int(now.timestamp() * 1_000_000), group)


def run(client: MetaClient, text: str, ask: Ask, now: datetime, file: IO[bytes] | None) -> None:
    """Run a query and write its result, to standard output without a file. Raises QueryError."""
    target = ask.target
    planned = plan(client, text, ask.language, now, as_of=target.as_of, is_fresh=target.is_fresh)
    for text_of_warning in planned.warnings:
        warnings.warn(text_of_warning, QueryWarning, stacklevel=2)
    with (
        _progress(ask) as progress,
        opened_query(planned, ask.target, ask.limits, progress, define_views(planned)) as query,
    ):
        if ask.is_explained:
            for line in explanation(query):
                print(line)
            return
        write_result(query, ask.format, ask.rows_max, file)


def define_views(planned: QueryPlan) -> Callable[[duckdb.DuckDBPyConnection], None]:
    """Return what defines our functions and the views of a plan in a connection."""

    def define(connection: duckdb.DuckDBPyConnection) -> None:
        from segplane.read.rows.duckdb_functions import define_functions, rate

        # KQL calls none of them; to define them is about a tenth of the CPU time of opening.
        if planned.columns is None:
            define_functions(connection)
        if planned.has_flags:
            connection.execute(rate(has_flags=True))
        for statement in view_statements(planned):
            connection.execute(statement)

    return define


def write_result(
    query: RunningQuery, format_: Format, rows_max: int, file: IO[bytes] | None
) -> None:
    """Run a query and write its rows, to standard output without a file. Raises QueryError."""
    reader, forms = query.result()
    if format_ in BINARY:
        write = output.write_arrow if format_ == "arrow" else output.write_parquet
        write(reader, forms, file or sys.stdout.buffer)
        return
    if format_ == "table" and file is None:
        rows, is_all = output.print_rows(reader, forms, rows_max)
        if not is_all:
            hint = "take or --format csv gives others"
            print(f"the first {rows:,} rows, there are more: {hint}", file=sys.stderr)
        return
    text = sys.stdout if file is None else io.TextIOWrapper(file, "utf-8", newline="")
    write_text = output.write_json if format_ == "json" else output.write_csv
    write_text(reader, forms, text)
    text.flush()
    if file is not None:
        text.detach()  # type: ignore[union-attr]


@contextmanager
def _progress(ask: Ask) -> Iterator[Progress | None]:
    """Draw a bar on a terminal's standard error, and clear it at the end."""
    if not sys.stderr.isatty() or ask.is_explained:
        yield None
        return
    drawn = False

    def draw(percent: float) -> None:
        nonlocal drawn
        if percent >= 0:
            done = int(percent * _BAR / 100)
            bar = "#" * done + "." * (_BAR - done)
            sys.stderr.write(f"\r[{bar}] {percent:3.0f} %")
            sys.stderr.flush()
            drawn = True

    try:
        yield draw
    finally:
        if drawn:
            sys.stderr.write("\r" + " " * (_BAR + 10) + "\r")
