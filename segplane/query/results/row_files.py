"""Files of rows for other programs: Parquet, Arrow, CSV, and JSON with an object a line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from segplane.query.results.forms import ROW_FILES, bare_texts, json_texts

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
        for line in json_lines(batch):
            self._output.write(f"{line}\n".encode())

    def close(self) -> None:
        self._output.flush()


def _is_text_in_csv(type_: pa.DataType) -> bool:
    """Return true unless Arrow's writer of CSV writes a type as `forms` does."""
    import pyarrow as pa

    types = pa.types
    return not (types.is_boolean(type_) or types.is_integer(type_) or types.is_string(type_))


def _csv_texts(column: pa.Array[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.array(bare_texts(column, column.type, ROW_FILES), pa.string())


_WRITERS: dict[str, Callable[[pa.Schema, IO[bytes]], BatchWriter]] = {
    "parquet": _ParquetRows,
    "arrow": _ArrowRows,
    "csv": _CsvRows,
    "json": _JsonRows,
}
