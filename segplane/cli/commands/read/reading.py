"""segplane read, sql, datasets preview: the records of datasets."""

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from segplane.cli.command import command, group
from segplane.cli.connection import complain, usage
from segplane.cli.messages import MetaClient
from segplane.cli.options import AsOf, Dataset, End, Fresh, Start, moment_of
from segplane.cli.output import NONE, Answer, JsonText, json_text, table
from segplane.cli.parameters import Option
from segplane.terminal.plain_text import print_table
from segplane.terminal.whole_files import whole_file

if TYPE_CHECKING:
    from segplane.read import OpenDataset, OpenView

app = group()
AsJsonRows = Annotated[bool, Option("--json", help="Print a JSON list of rows.")]
Signal = Annotated[str | None, Option(help="Only records of this signal: logs, traces, metrics.")]
# Shown of a record if there is no room for all of it.
_SHORT = ("timestamp", "signal", "service_name")
_TEXTS = ("body", "name", "metric_name")
_CELL_CHARACTERS = 100
_TABLE_ROWS = 1_000


def preview(
    address: str,
    name: Dataset,
    signal: Signal = None,
    limit: Annotated[int, Option(min=1, max=10_000)] = 10,
    fresh: Fresh = False,
) -> Answer:
    """Show the newest records of each signal of a dataset.

    JSON has every column that is not null.

    Options:
        limit: Most records of each signal.
    """
    from segplane.read import open_dataset

    with open_dataset(name, signal, fresh=fresh, meta_address=address) as dataset:
        newest = [dataset.of_signal(each).newest(limit) for each in dataset.signals]
    batches = (batch for records in newest for batch in records.to_batches())
    rows = (row for records in newest for row in records.to_pylist())
    shown = ([_cell(row[column]) for column in _SHORT] + [_record_text(row)] for row in rows)
    return Answer(_objects(batches), table((*_SHORT, "record"), shown))


def _objects(batches: Iterable[Any], forms: Any = None) -> Iterator[JsonText]:
    """Yield the rows of batches as JSON; without forms, only what is not null."""
    from segplane.query.results.row_files import json_lines

    for batch in batches:
        yield from map(JsonText, json_lines(batch, forms, has_nulls=forms is not None))


@command(app, "read web --format csv --output web.csv --start 1h")
def read(
    address: str,
    name: Dataset,
    output: Annotated[Path, Option()],
    file_format: Annotated[str | None, Option("--format")] = None,
    signal: Signal = None,
    start: Start = None,
    end: End = None,
    columns: str | None = None,
    as_of: AsOf = None,
    fresh: Fresh = False,
) -> None:
    """Write the records of a dataset to a file, which has its name once it is complete.

    Options:
        output: File to write; - is the standard output.
        file_format: One of parquet, arrow, csv, json (an object a line); by default the ending of
            the file's name, or parquet without one.
        columns: Only these columns, separated by commas.
    """
    from segplane.query.results.row_files import write_rows
    from segplane.read import open_dataset

    written = _format_of(output, file_format)
    names = None if columns is None else [column.strip() for column in columns.split(",")]
    with open_dataset(
        name,
        signal,
        start,
        end,
        names,
        as_of=moment_of(as_of),
        fresh=fresh,
        meta_address=address,
        progress=_progress(),
    ) as dataset:
        if str(output) == "-":
            rows = write_rows(dataset.to_reader(), written, sys.stdout.buffer)
        else:
            with whole_file(output) as file:
                rows = write_rows(dataset.to_reader(), written, file)
        print(f"{rows} records of {name} at version {dataset.version}", file=sys.stderr)


def _format_of(output: Path, file_format: str | None) -> str:
    """Return the format to write: the one asked for, which the file's name may not contradict."""
    from segplane.query.results.row_files import FORMATS

    formats = ", ".join(FORMATS)
    if file_format is not None and file_format not in FORMATS:
        raise usage(f"--format is {file_format!r}, expected one of {formats}")
    ending = output.suffix.lower().removeprefix(".")
    by_name = "json" if ending in ("jsonl", "ndjson") else ending
    if file_format is None and by_name not in ("", *FORMATS):
        raise usage(
            f"--output is {str(output)!r}, whose ending is none of {formats}: give --format"
        )
    if file_format is not None and by_name in FORMATS and by_name != file_format:
        raise usage(f"--output is {str(output)!r}, but --format is {file_format!r}")
    return file_format or by_name or "parquet"


@command(app, 'sql --command "SELECT count(*) FROM web.logs"')
def sql(
    client: MetaClient,
    address: str,
    statement: Annotated[str | None, Option("-c", "--command")] = None,
    start: Start = None,
    end: End = None,
    as_of: AsOf = None,
    fresh: Fresh = False,
    as_json: AsJsonRows = False,
) -> None:
    """Query datasets and views in DuckDB's SQL: `web`, and `web.logs` its logs. Nothing is written.

    There are also attribute(attributes, 'user.id'), histogram_quantile(0.99, bucket_counts,
    explicit_bounds), merge_buckets(bucket_counts), severity_name(n) and others.

    Options:
        statement: Run one statement and end.
    """
    from segplane.query.sql.sql_session import SqlSession
    from segplane.read import ReadError, open_dataset, open_view
    from segplane.read.lookup import all_datasets, view_names

    # One moment for all that the session reads.
    moment = moment_of(as_of)
    views = frozenset[str]()

    def names() -> list[str]:
        nonlocal views
        datasets = [dataset.name for dataset in all_datasets(client)]
        # A dataset comes before a view of its name.
        views = frozenset(view_names(client)).difference(datasets)
        return [*datasets, *sorted(views)]

    def open_by_name(name: str) -> "OpenDataset | OpenView":
        if name in views:
            return open_view(name, start, end, as_of=moment, fresh=fresh, meta_address=address)
        return open_dataset(name, None, start, end, as_of=moment, fresh=fresh, meta_address=address)

    with closing(SqlSession(names, open_by_name)) as session:
        if statement is not None:
            _run(session, statement, as_json)
            return
        for each in _statements():
            try:
                _run(session, each, as_json)
            except ReadError as error:
                complain(str(error))


def _run(session: Any, statement: str, as_json: bool) -> None:
    from segplane.query.results.forms import ROW_FILES
    from segplane.query.results.output import text_rows

    with session.query(statement) as result:
        if as_json:
            for line in json_text(_objects(result.reader, result.forms)):
                print(line)
            return
        rows = text_rows(result.reader, result.forms, ROW_FILES)
        shown = [[_cell(value) for value in row] for row in islice(rows, _TABLE_ROWS)]
        print_table(result.reader.schema.names, shown)
        if next(rows, None) is not None:
            print(f"stopped after {_TABLE_ROWS} rows: --json prints all", file=sys.stderr)


def _statements() -> Iterator[str]:
    """Read statements from the standard input, each ended by a semicolon at the end of a line."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        import readline  # noqa: F401 - gives input() a history

        print("SQL over datasets: end a statement with ;  Ctrl-D ends.")
    lines: list[str] = []
    while True:
        try:
            line = input(("segplane> " if not lines else "     ...> ") if is_terminal else "")
        except EOFError:
            break
        except KeyboardInterrupt:
            lines.clear()
            print()
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(lines)
            lines.clear()
    if "".join(lines).strip():
        yield "\n".join(lines)


def _record_text(row: dict[str, Any]) -> str:
    """Return the words of a record: a log's body, a span's name, a metric's name and value."""
    text = next((row[name] for name in _TEXTS if row.get(name) is not None), None)
    value = next(
        (row[name] for name in ("value_double", "value_long") if row.get(name) is not None), None
    )
    return _cell(text) if value is None else f"{_cell(text)} = {value}"


def _cell(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, float) and not math.isfinite(value):
        value = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 3]}..."


def _progress() -> Any:
    """Return a function that shows the share that is read, on a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(rows: int, rows_max: int) -> None:
        print(
            f"\r{rows} records, {min(100, 100 * rows // max(1, rows_max))} %",
            end="",
            file=sys.stderr,
        )

    return show
