"""segplane query: datasets and views asked in KQL or SQL."""

import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from segplane.cli.command import command, group
from segplane.cli.connection import refusal, usage
from segplane.cli.messages import MetaClient
from segplane.cli.options import AsOf, End, Fresh, Start, moment_of
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from segplane.query.results.output import Format
    from segplane.query.runs import Ask
    from segplane.query.sources import QueryPlace

app = group()


@command(app, 'query "web | where severity_number >= 17 | take 10"')
def query(
    client: MetaClient,
    address: str,
    text: Annotated[str | None, Positional()] = None,
    kql: bool = False,
    sql: bool = False,
    format_: Annotated[str, Option("--format")] = "table",
    output: Path | None = None,
    as_of: AsOf = None,
    fresh: Fresh = False,
    start: Start = None,
    end: End = None,
    adjust_time: bool = False,
    explain: bool = False,
    memory: Annotated[int, Option(min=64)] = 2_048,
    timeout: Annotated[float, Option(min=0.001)] = 300.0,
    max_rows: Annotated[int, Option(min=1, max=100_000)] = 1_000,
) -> None:
    """Ask datasets and views in KQL (docs/kql.md) or SQL; without a text, one query after another.

    A text that begins with SELECT, WITH or FROM is SQL. One version of the catalog is read, and
    nothing but the files of the datasets that the query names.

    Options:
        text: The query; - reads it from standard input; none asks.
        kql: Read it as KQL.
        sql: Read it as DuckDB's SQL.
        format_: table, json, csv, arrow or parquet.
        output: Write to this new file.
        adjust_time: Add the time adjustment of each dataset to the times of its records.
        explain: Print the data that it would read, and do not run it.
        memory: MiB that the query may use before it is stopped.
        timeout: Seconds until the query is stopped.
        max_rows: Most rows of a table; other formats have all.
    """
    # DuckDB and sqlglot take long to import.
    from segplane.query.engine import QueryLimits
    from segplane.query.runs import Ask, Language

    _check_options(format_, kql, sql, output)
    language: Language | None = "kql" if kql else "sql" if sql else None
    limits = QueryLimits(memory * 2**20, timeout)
    query_place = _place(address, as_of, start, end, fresh, adjust_time)
    ask = Ask(language, cast("Format", format_), query_place, limits, max_rows, explain)
    if text is None:
        from segplane.query.shell import shell

        shell(client, ask)
        return
    _run_once(client, sys.stdin.read() if text == "-" else text, ask, output)


def _check_options(format_: str, kql: bool, sql: bool, output: Path | None) -> None:
    """Refuse options that make no sense together."""
    from segplane.query.results.output import BINARY, FORMATS

    if format_ not in FORMATS:
        raise usage(f"--format is {format_!r}, not one of {', '.join(FORMATS)}")
    if kql and sql:
        raise usage("--kql and --sql exclude one another")
    if format_ in BINARY and output is None and sys.stdout.isatty():
        raise usage(f"--format {format_} is not text: name a file with --output, or use a pipe")


def _place(
    address: str,
    as_of: str | None,
    start: str | None,
    end: str | None,
    is_fresh: bool,
    adjusts_time: bool,
) -> "QueryPlace":
    from segplane.query.sources import QueryPlace
    from segplane.read import ReadError
    from segplane.read.bounds import time_bounds

    if is_fresh and as_of is not None:
        raise usage("--as-of and --fresh exclude one another: fresh records have no version yet")
    try:
        bounds = time_bounds(start, end)
    except ReadError as error:
        raise usage(str(error)) from None
    return QueryPlace(address, moment_of(as_of), bounds, is_fresh, adjusts_time=adjusts_time)


def _run_once(client: MetaClient, text: str, ask: "Ask", output: Path | None) -> None:
    """Run one query; a file that could not be written whole is removed."""
    from segplane.query.runs import run

    try:
        with ExitStack() as stack:
            file = None if output is None else stack.enter_context(output.open("xb"))
            if output is not None:
                stack.callback(output.unlink)
            run(client, text, ask, datetime.now(UTC), file)
            if output is not None:
                stack.pop_all()
                assert file is not None
                file.close()
    except KeyboardInterrupt:
        raise refusal("the query was interrupted") from None
    except FileExistsError:
        raise usage(f"--output: {output} exists: name a new file") from None
    except OSError as error:
        raise refusal(f"the result cannot be written: {error}") from None
