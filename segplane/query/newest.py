"""The newest rows of a dataset as JSON."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

from kql.dataset_table import FORMAT_COLUMNS
from segplane.query.errors import QueryError
from segplane.query.results.forms import form_of
from segplane.query.results.output import json_rows
from segplane.read.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segplane.read.dataset import OpenDataset
    from segplane.read.rows.columns import ReadColumns


def write_newest(dataset: OpenDataset, limit: int, out: IO[bytes]) -> int:
    """Write at most `limit` records of each signal, newest first: a list of objects, one a line.

    Values are written as queries write them, dynamic ones as JSON, and nulls are omitted. Returns
    the rows. Raises QueryError.
    """
    rows = 0
    out.write(b"[")
    for signal in dataset.signals:
        for record in _records(dataset.of_signal(signal), limit):
            out.write(f"{',' if rows else ''}\n {{{record}}}".encode())
            rows += 1
    out.write(b"\n]\n" if rows else b"]\n")
    return rows


def _records(dataset: OpenDataset, limit: int) -> Iterator[str]:
    try:
        newest = dataset.newest(limit)
    except ReadError as error:
        raise QueryError(str(error)) from error
    dynamic = _dynamic(dataset.columns)
    names = [json.dumps(name, ensure_ascii=False) for name in dataset.columns.names]
    forms = [
        form_of(field.type, "dynamic" if field.name in dynamic else None) for field in newest.schema
    ]
    for row in json_rows(newest.to_reader(), forms):
        pairs = zip(names, row, strict=True)
        yield ", ".join(f"{name}: {text}" for name, text in pairs if text != "null")


def _dynamic(columns: ReadColumns) -> frozenset[str]:
    promoted = {column.name: column.kql_type for column in columns.spec.promoted}
    types = {**FORMAT_COLUMNS, **promoted}
    return frozenset(name for name, type_ in types.items() if type_ == "dynamic")
