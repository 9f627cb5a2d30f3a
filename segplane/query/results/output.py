"""Results as tables, JSON, CSV, Arrow and Parquet; `forms` has the form of each value."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from io import IOBase
from typing import IO, TYPE_CHECKING, Literal, cast, get_args

from segplane.query.results.forms import QUERIES, Style, bare_texts, json_texts
from segplane.terminal.plain_text import print_table

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["table", "json", "csv", "arrow", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
BINARY: frozenset[Format] = frozenset(["arrow", "parquet"])
CELL_CHARACTERS_MAX = 200


def write_json(reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], out: IO[str]) -> int:
    """Write a list of objects, one a line; nested values as JSON. Returns the rows."""
    rows = 0
    names = [json.dumps(name, ensure_ascii=False) for name in reader.schema.names]
    out.write("[")
    for row in json_rows(reader, forms):
        members = ", ".join([f"{name}: {text}" for name, text in zip(names, row, strict=True)])
        out.write(f"{',' if rows else ''}\n {{{members}}}")
        rows += 1
    out.write("\n]\n" if rows else "]\n")
    return rows


def write_csv(reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], out: IO[str]) -> int:
    """Write names, then rows, quoted as RFC 4180 has it; null is empty. Returns the rows."""
    # Of the characters that end a line, the writer quotes only those of its own terminator.
    writer, rows = csv.writer(_LineFeeds(out), lineterminator="\r\n"), 0
    writer.writerow(reader.schema.names)
    for row in text_rows(reader, forms):
        writer.writerow(["" if text is None else text for text in row])
        rows += 1
    return rows


def write_spreadsheet(
    reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], out: IO[str]
) -> int:
    """Write CSV in which a text that spreadsheets take for a formula follows an apostrophe."""
    import pyarrow as pa

    types = pa.types
    are_numbers = [
        types.is_integer(f) or types.is_floating(f) or types.is_decimal(f) for f in forms
    ]
    writer, rows = csv.writer(out, lineterminator="\r\n"), 0
    writer.writerow([_without_formula(name) for name in reader.schema.names])
    for row in text_rows(reader, forms):
        writer.writerow(
            [
                text or "" if is_number else _without_formula(text or "")
                for text, is_number in zip(row, are_numbers, strict=True)
            ]
        )
        rows += 1
    return rows


# The places in which a text that spreadsheets take for a formula begins: characters of it, also of
# full width, after characters that they remove; and after those that they may take for the end of
# a cell, whatever their language has for one.
_FORMULAS = re.compile(
    r"\A(?=[\t\r\n])"
    r"|(?:\A|(?<=[;\t\r\n]))"
    r"(?=(?:[^\S\t\r\n]|[\ufeff\u200b-\u200f\u2060])*[=+\-@\uff1d\uff0b\uff0d\uff20])"
)


def _without_formula(text: str) -> str:
    return _FORMULAS.sub("'", text)


class _LineFeeds:
    """Writes the rows of a writer of CSV with a line feed at their end."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, row: str) -> int:
        """Write one row."""
        return self._out.write(row.removesuffix("\r\n") + "\n")


def print_rows(
    reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], rows_max: int
) -> tuple[int, bool]:
    """Print an aligned table of at most so many rows; tell their number and whether that is all."""
    kept: list[list[str]] = []
    is_all = True
    for row in text_rows(reader, forms):
        if len(kept) == rows_max:
            is_all = False
            break
        kept.append([_cell(text) for text in row])
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


def json_rows(
    reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], style: Style = QUERIES
) -> Iterator[tuple[str, ...]]:
    """Yield the JSON of each row's values."""
    for batch in reader:
        yield from zip(
            *(json_texts(c, form, style) for c, form in zip(batch.columns, forms, strict=True)),
            strict=True,
        )


def text_rows(
    reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], style: Style = QUERIES
) -> Iterator[tuple[str | None, ...]]:
    """Yield the cells of each row; None is null."""
    for batch in reader:
        yield from zip(
            *(bare_texts(c, form, style) for c, form in zip(batch.columns, forms, strict=True)),
            strict=True,
        )


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


def write_arrow(reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], out: IO[bytes]) -> int:
    """Write an Arrow stream, timespans as durations in nanoseconds. Returns the rows."""
    import pyarrow as pa

    rows, schema = 0, _with_durations(reader.schema, forms)
    with pa.ipc.new_stream(pa.PythonFile(cast("IOBase", out), "w"), schema) as writer:
        for batch in reader:
            columns = [
                # Only timespans: a cast of a map whose keys have no type ends the process.
                column if column.type == field.type else column.cast(field.type)
                for column, field in zip(batch.columns, schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            rows += batch.num_rows
    return rows


def write_parquet(
    reader: pa.RecordBatchReader, forms: Sequence[pa.DataType], out: IO[bytes]
) -> int:
    """Write Parquet; columns with types that it lacks are the texts of CSV. Returns the rows.

    Timespans are numbers of nanoseconds.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from segments.parquet.bounded import bounded_names

    schema = _with_durations(reader.schema, forms)
    texts = [_is_text_in_parquet(form) for form in forms]
    stored = pa.schema(
        field.with_type(pa.string()) if is_text else field
        for field, is_text in zip(schema, texts, strict=True)
    )
    rows = 0
    bounded = bounded_names(stored)
    with pq.ParquetWriter(out, stored, compression="zstd", write_statistics=bounded) as writer:
        for batch in reader:
            columns = [
                pa.array(bare_texts(column, form), pa.string())
                if is_text
                else column
                if column.type == field.type
                else column.cast(field.type)
                for column, form, is_text, field in zip(
                    batch.columns, forms, texts, stored, strict=True
                )
            ]
            writer.write_batch(pa.record_batch(columns, schema=stored))
            rows += batch.num_rows
    return rows


def _is_text_in_parquet(type_: pa.DataType) -> bool:
    """Return true for types that Parquet lacks, within others too."""
    import pyarrow as pa

    if pa.types.is_interval(type_) or pa.types.is_union(type_):
        return True
    if pa.types.is_map(type_) and pa.types.is_null(type_.key_type):
        return True
    return any(_is_text_in_parquet(type_.field(n).type) for n in range(type_.num_fields))


def _with_durations(schema: pa.Schema, forms: Sequence[pa.DataType]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        field.with_type(form) if pa.types.is_duration(form) else field
        for field, form in zip(schema, forms, strict=True)
    )


def _cell(text: str | None) -> str:
    text = text or ""
    # One row is one line, whatever a text holds; a terminal obeys no text of a record.
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: CELL_CHARACTERS_MAX + 1])
    return text if len(text) <= CELL_CHARACTERS_MAX else text[:CELL_CHARACTERS_MAX] + "…"
