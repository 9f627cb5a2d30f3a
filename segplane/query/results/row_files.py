"""Files of rows for other programs: Parquet, Arrow, CSV, and JSON with an object a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING

from segplane.query.results.forms import ROW_FILES, bare_texts, json_texts
from segplane.query.results.output import write_arrow, write_parquet

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "arrow", "csv", "json")


def write_rows(reader: pa.RecordBatchReader, file_format: str, output: IO[bytes]) -> int:
    """Write all batches in one of FORMATS; returns the number of rows."""
    return _WRITERS[file_format](reader, output)


def json_lines(
    batch: pa.RecordBatch, forms: Sequence[pa.DataType] | None = None, *, has_nulls: bool = True
) -> list[str]:
    """Return each row of a batch as a JSON object on one line, with or without its nulls."""
    names = [json.dumps(name, ensure_ascii=False) for name in batch.schema.names]
    forms = forms or batch.schema.types
    columns = [
        [
            f"{name}:{text}" if has_nulls or text != "null" else ""
            for text in json_texts(column, form, ROW_FILES)
        ]
        for name, column, form in zip(names, batch.columns, forms, strict=True)
    ]
    return [f"{{{','.join(filter(None, row))}}}" for row in zip(*columns, strict=True)]


def _write_csv(reader: pa.RecordBatchReader, output: IO[bytes]) -> int:
    """Lists are JSON in a cell, times are RFC 3339, null is an empty cell without quotes."""
    import pyarrow as pa
    from pyarrow import csv

    rows, types = 0, reader.schema.types
    schema = pa.schema(
        field.with_type(pa.string()) if _is_text_in_csv(field.type) else field
        for field in reader.schema
    )
    with csv.CSVWriter(output, schema) as writer:
        for batch in reader:
            columns = [
                pa.array(bare_texts(column, type_, ROW_FILES), pa.string())
                if _is_text_in_csv(type_)
                else column
                for column, type_ in zip(batch.columns, types, strict=True)
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            rows += batch.num_rows
    return rows


def _write_json(reader: pa.RecordBatchReader, output: IO[bytes]) -> int:
    rows = 0
    for batch in reader:
        output.writelines(f"{line}\n".encode() for line in json_lines(batch))
        rows += batch.num_rows
    output.flush()
    return rows


def _is_text_in_csv(type_: pa.DataType) -> bool:
    """Return true unless Arrow's writer of CSV writes a type as `forms` does."""
    import pyarrow as pa

    types = pa.types
    return not (types.is_boolean(type_) or types.is_integer(type_) or types.is_string(type_))


_WRITERS: dict[str, Callable[[pa.RecordBatchReader, IO[bytes]], int]] = {
    "parquet": lambda reader, output: write_parquet(reader, reader.schema.types, output),
    "arrow": lambda reader, output: write_arrow(reader, reader.schema.types, output),
    "csv": _write_csv,
    "json": _write_json,
}
