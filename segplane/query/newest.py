"""The newest rows of a dataset as JSON."""

from __future__ import annotations

import json
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from segplane.kql.dataset_table import FORMAT_COLUMNS
from segplane.query.errors import QueryError
from segplane.query.output import dynamic_value, plain, rows_of
from segplane.read.errors import ReadError

if TYPE_CHECKING:
    from segplane.read.columns import ReadColumns
    from segplane.read.dataset import OpenDataset


def write_newest(dataset: OpenDataset, limit: int, out: IO[bytes]) -> int:
    """Write a list of objects, one a line, newest first, without nulls. Returns the rows.

    Values are written as queries write them, dynamic ones as JSON. Raises QueryError.
    """
    try:
        newest = dataset.newest(limit)
    except ReadError as error:
        raise QueryError(str(error)) from error
    columns, rows = dataset.columns, 0
    dynamic = _dynamic(columns)
    cells = [partial(_cell, is_dynamic=name in dynamic) for name in columns.names]
    out.write(b"[")
    for row in rows_of(newest.to_reader(), cells):
        pairs = zip(columns.names, row, strict=True)
        record = {name: value for name, value in pairs if value is not None}
        text = json.dumps(record, ensure_ascii=False)
        out.write(f"{',' if rows else ''}\n {text}".encode())
        rows += 1
    out.write(b"\n]\n" if rows else b"]\n")
    return rows


def _dynamic(columns: ReadColumns) -> frozenset[str]:
    promoted = {column.name: column.kql_type for column in columns.spec.promoted}
    types = {**FORMAT_COLUMNS, **promoted}
    return frozenset(name for name, type_ in types.items() if type_ == "dynamic")


def _cell(value: Any, *, is_dynamic: bool) -> Any:
    if isinstance(value, list):
        return [plain(element) for element in value]
    return dynamic_value(value) if is_dynamic else plain(value)
