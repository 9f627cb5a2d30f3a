"""Results as tables, JSON, CSV, Arrow and Parquet."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from io import IOBase
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args

from segplane.kql.types import DAY_NANOS, KqlType
from segplane.query.arrow_values import python_values
from segplane.terminal.plain_text import print_table

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["table", "json", "csv", "arrow", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
BINARY: frozenset[Format] = frozenset(["arrow", "parquet"])
CELL_CHARACTERS_MAX = 200
Cell = Callable[[Any], Any]


def write_json(reader: pa.RecordBatchReader, types: Sequence[KqlType], out: IO[str]) -> int:
    """Write a list of objects, one a line; dynamic values as JSON. Returns the rows."""
    rows = 0
    out.write("[")
    for row in rows_of(reader, [_JSON.get(type_, plain) for type_ in types]):
        record = dict(zip(reader.schema.names, row, strict=True))
        out.write((",\n " if rows else "\n ") + json.dumps(record, ensure_ascii=False))
        rows += 1
    out.write("\n]\n" if rows else "]\n")
    return rows


def write_csv(reader: pa.RecordBatchReader, types: Sequence[KqlType], out: IO[str]) -> int:
    """Write names, then rows, quoted as RFC 4180 has it; null is empty. Returns the rows."""
    writer, rows = csv.writer(out, lineterminator="\n"), 0
    writer.writerow(reader.schema.names)
    for row in rows_of(reader, [_CSV.get(type_, plain) for type_ in types]):
        writer.writerow(["" if value is None else value for value in row])
        rows += 1
    return rows


def print_rows(
    reader: pa.RecordBatchReader, types: Sequence[KqlType], rows_max: int
) -> tuple[int, bool]:
    """Print an aligned table of at most so many rows; tell their number and whether that is all."""
    kept: list[list[str]] = []
    is_all = True
    for row in rows_of(reader, [_CSV.get(type_, plain) for type_ in types]):
        if len(kept) == rows_max:
            is_all = False
            break
        kept.append([_cell(value) for value in row])
    names = reader.schema.names
    shown = shown_columns(names, kept)
    print_table([names[n] for n in shown], [[row[n] for n in shown] for row in kept])
    if len(shown) < len(names):
        print(
            f"{len(shown)} of {len(names)} columns have values in these rows:"
            " --format json or csv shows all",
            file=sys.stderr,
        )
    return len(kept), is_all


# The order in which people look at a record.
_FIRST = (
    *("timestamp", "signal", "severity", "severity_text", "service_name", "event_name", "body"),
    *("name", "metric_name", "value_double", "value_long", "duration", "span_kind", "span_status"),
    *("status_message", "trace_id", "span_id", "parent_span_id", "attributes"),
    "resource_attributes",
)
# A result with more columns is that of no query that chose them.
COLUMNS_MAX = 24


def shown_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the places of the columns that a terminal shows, in their order.

    Of many columns, those that have a value in some row, and those first that people look at.
    """
    if len(names) <= COLUMNS_MAX or not rows:
        return list(range(len(names)))
    ranks = {name: rank for rank, name in enumerate(_FIRST)}
    filled = [n for n in range(len(names)) if any(row[n] for row in rows)]
    return sorted(filled, key=lambda n: ranks.get(names[n], len(ranks)))


def write_arrow(reader: pa.RecordBatchReader, types: Sequence[KqlType], out: IO[bytes]) -> int:
    """Write an Arrow stream, timespans as durations in nanoseconds. Returns the rows."""
    import pyarrow as pa

    rows, schema = 0, _typed(reader.schema, types)
    with pa.ipc.new_stream(pa.PythonFile(cast("IOBase", out), "w"), schema) as writer:
        for batch in reader:
            writer.write_batch(batch.cast(schema))
            rows += batch.num_rows
    return rows


def write_parquet(reader: pa.RecordBatchReader, types: Sequence[KqlType], out: IO[bytes]) -> int:
    """Write Parquet, which has no timespans: those are numbers of nanoseconds. Returns the rows."""
    import pyarrow.parquet as pq

    from segments.parquet.bounded import bounded_names

    rows, schema = 0, _typed(reader.schema, types)
    bounded = bounded_names(schema)
    with pq.ParquetWriter(out, schema, compression="zstd", write_statistics=bounded) as writer:
        for batch in reader:
            writer.write_batch(batch.cast(schema))
            rows += batch.num_rows
    return rows


def kql_types(schema: pa.Schema) -> list[KqlType]:
    """Return the types of a result of SQL, as nearly as Arrow gives them."""
    return [_of_arrow(field.type) for field in schema]


def _of_arrow(type_: pa.DataType) -> KqlType:
    import pyarrow as pa

    if pa.types.is_boolean(type_):
        return "bool"
    if pa.types.is_integer(type_):
        return "long"
    if pa.types.is_floating(type_):
        return "real"
    return "datetime" if pa.types.is_timestamp(type_) else "string"


def _typed(schema: pa.Schema, types: Sequence[KqlType]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        field.with_type(pa.duration("ns")) if type_ == "timespan" else field
        for field, type_ in zip(schema, types, strict=True)
    )


def rows_of(reader: pa.RecordBatchReader, cells: Sequence[Cell]) -> Iterator[list[Any]]:
    """Yield the rows of a result, each value but null through its column's cell."""
    for batch in reader:
        columns = [
            [None if value is None else cell(value) for value in python_values(column)]
            for column, cell in zip(batch.columns, cells, strict=True)
        ]
        yield from map(list, zip(*columns, strict=True))


def plain(value: Any) -> Any:
    """Return a value that JSON and CSV have; others, such as lists and decimals, as texts."""
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else not_finite(value)
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, list | dict):
        return json.dumps(value, default=str, ensure_ascii=False)
    return value.hex() if isinstance(value, bytes) else str(value)


def not_finite(value: float) -> str:
    """Write NaN or an infinite number, which JSON lacks, as Kusto does."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def time_text(value: datetime) -> str:
    """Write a time in RFC 3339 with microseconds."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def timespan_text(nanos: int) -> str:
    """Write a timespan as Kusto does, with nanoseconds: [-][d.]hh:mm:ss[.fffffffff]."""
    days, rest = divmod(abs(nanos), DAY_NANOS)
    seconds, fraction = divmod(rest, 10**9)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    parts = [f"{days}." if days else "", clock, f".{fraction:09}" if fraction else ""]
    return ("-" if nanos < 0 else "") + "".join(parts)


def dynamic_value(value: Any) -> Any:
    """Return the value of a dynamic one; JSON has no NaN and no infinity, so these are texts."""
    if not isinstance(value, str):
        return plain(value)
    try:
        return json.loads(value, parse_constant=str)
    except ValueError:
        # A sender's own text, which need not be JSON.
        return value


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    # One row is one line, whatever a text holds; a terminal obeys no text of a record.
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: CELL_CHARACTERS_MAX + 1])
    return text if len(text) <= CELL_CHARACTERS_MAX else text[:CELL_CHARACTERS_MAX] + "…"


_CSV: dict[KqlType, Cell] = {"timespan": timespan_text}
_JSON: dict[KqlType, Cell] = {"timespan": timespan_text, "dynamic": dynamic_value}
