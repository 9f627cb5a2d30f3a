"""Attributes read out of many JSON objects by Arrow's own reader, if it reads them exactly.

It reads a column of whole numbers, numbers, booleans or texts at a tenth of the time of Python's
parser. Anything else makes it fail: a value of another type, a whole number out of range, a name
that is there twice. Such columns are left to the caller, which reads them value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from segments.parquet.spec import PromotedColumn

# A call takes 100 us, as long as Python takes for some twenty objects.
ROWS_MIN = 32
# The reader takes a block of less than 2 GiB, and holds several copies of it.
BLOCK_BYTES_MAX = 64 * 1024 * 1024
# Texts of datetime and guid are converted one by one afterwards.
_READ_TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "real": pa.float64(),
    "string": pa.string(),
    "timespan": pa.int64(),
    "datetime": pa.string(),
    "guid": pa.string(),
}


def read_attributes(
    texts: pa.Array[Any], columns: Sequence[PromotedColumn]
) -> dict[PromotedColumn, pa.Array[Any]]:
    """Return the values of those columns that are read exactly, null if there is none.

    `texts` are JSON objects or null, and `columns` are of one scope. Values of datetime and guid
    columns are texts, to be converted; all others have the column's type, text for dictionaries.
    """
    readable = [column for column in columns if column.kql_type in _READ_TYPES]
    if len(texts) < ROWS_MIN or texts.nbytes > BLOCK_BYTES_MAX or not readable:
        return {}
    joined = _joined(texts)
    together = _read(joined, readable, len(texts))
    if together is not None:
        return together
    values: dict[PromotedColumn, pa.Array[Any]] = {}
    for column in readable if len(readable) > 1 else ():
        values |= _read(joined, [column], len(texts)) or {}
    return values


def _joined(texts: pa.Array[Any]) -> pa.Buffer:
    whole = texts.fill_null("{}").cast(pa.large_string())
    lists = pa.LargeListArray.from_arrays(pa.array([0, len(whole)], pa.int64()), whole)
    texts_joined: Any = pc.binary_join(lists, pa.scalar("\n", pa.large_string()))
    buffer: pa.Buffer = texts_joined[0].as_buffer()
    return buffer


def _read(
    joined: pa.Buffer, columns: Sequence[PromotedColumn], rows: int
) -> dict[PromotedColumn, pa.Array[Any]] | None:
    """Read columns together; None if one of them has a value that it cannot read exactly."""
    # Two columns may read one attribute, as different types.
    if len({column.attribute for column in columns}) < len(columns):
        return None
    schema = pa.schema([(column.attribute, _READ_TYPES[column.kql_type]) for column in columns])
    try:
        table = pa_json.read_json(
            cast(IO[Any], pa.BufferReader(joined)),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=max(1, joined.size)),
            parse_options=pa_json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    # A raw line break within a text would be the end of an object.
    if table.num_rows != rows:
        return None
    return {column: table.column(column.attribute).combine_chunks() for column in columns}
