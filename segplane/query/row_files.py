"""Files of rows for other programs: Parquet, Arrow, CSV, and JSON with an object a line."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from segplane.query.arrow_values import python_rows, python_values
from segplane.query.output import not_finite

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "arrow", "csv", "json")


class BatchWriter(Protocol):
    """Writes batches of one schema."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch."""
        ...

    def close(self) -> None:
        """Write the end of the file."""
        ...


def write_rows(reader: pa.RecordBatchReader, file_format: str, output: IO[bytes]) -> int:
    """Write all batches in one of FORMATS; returns the number of rows."""
    rows = 0
    writer = _WRITERS[file_format](reader.schema, output)
    for batch in reader:
        writer.write(batch)
        rows += batch.num_rows
    writer.close()
    return rows


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its name once it is complete, in place of one that has it."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with unfinished.open("xb") as output:
            yield output
            output.flush()
            os.fsync(output.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def json_row(row: dict[str, Any]) -> str:
    """Return a row as a JSON object on one line."""
    return json.dumps(_json_value(row), ensure_ascii=False, separators=(",", ":"))


def _json_value(value: Any) -> Any:
    """Return what JSON has for a value; NaN and infinities as text, which JSON lacks."""
    if isinstance(value, dict):
        return {str(name): _json_value(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        return not_finite(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal) and value == value.to_integral_value():
        # DuckDB's sums of whole numbers.
        return int(value)
    return str(value)


class _ParquetRows:
    def __init__(self, schema: pa.Schema, output: IO[bytes]) -> None:
        import pyarrow.parquet as pq

        from segments.parquet.bounded import bounded_names

        self._writer = pq.ParquetWriter(
            output, schema, compression="zstd", write_statistics=bounded_names(schema)
        )

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _ArrowRows:
    def __init__(self, schema: pa.Schema, output: IO[bytes]) -> None:
        import pyarrow as pa

        sink: Any = output
        self._writer = pa.ipc.new_stream(sink, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _CsvRows:
    """Lists are JSON in a cell, times are RFC 3339, null is an empty cell without quotes."""

    def __init__(self, schema: pa.Schema, output: IO[bytes]) -> None:
        import pyarrow as pa
        from pyarrow import csv

        fields = [pa.field(f.name, pa.string()) if _is_text_in_csv(f.type) else f for f in schema]
        self._schema = pa.schema(fields)
        self._writer = csv.CSVWriter(output, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        columns = [
            _csv_texts(column) if _is_text_in_csv(column.type) else column
            for column in batch.columns
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class _JsonRows:
    def __init__(self, _: pa.Schema, output: IO[bytes]) -> None:
        self._output = output

    def write(self, batch: pa.RecordBatch) -> None:
        for record in python_rows(batch):
            self._output.write(f"{json_row(record)}\n".encode())

    def close(self) -> None:
        self._output.flush()


def _is_text_in_csv(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_nested(type_) or pa.types.is_timestamp(type_)


def _csv_texts(column: pa.Array[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        times = python_values(column)
        texts = [v.isoformat() if isinstance(v, datetime) else v for v in times]
        return pa.array(texts, pa.string())
    texts = [None if v is None else json.dumps(_json_value(v)) for v in python_values(column)]
    return pa.array(texts, pa.string())


_WRITERS: dict[str, Callable[[pa.Schema, IO[bytes]], BatchWriter]] = {
    "parquet": _ParquetRows,
    "arrow": _ArrowRows,
    "csv": _CsvRows,
    "json": _JsonRows,
}
