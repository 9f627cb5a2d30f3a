"""Batches whose texts are kept once, written out piece by piece.

A Parquet file of 200 KB can hold a text of a megabyte once and name it in a million rows. So texts
are read as dictionaries, and a batch is cut into pieces before its texts are written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from segments.foreign.mapping import NotMappable

# Size of the rows that are held written out at once.
PIECE_BYTES_MAX = 8 * 1024 * 1024
ROW_BYTES_MAX = 64 * 1024 * 1024
_Array = Any  # A pa.Array of any type.


def text_paths(metadata: pq.FileMetaData) -> list[str]:
    """Return the paths of the columns, nested ones too, that may have a dictionary of texts."""
    schema = metadata.schema
    columns = (schema.column(index) for index in range(len(schema)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def pieces(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield a batch with its texts written out, as columns of a schema.

    Raises NotMappable for a row of more than ROW_BYTES_MAX.
    """
    size_bytes = sum(map(_bytes, batch.columns))
    if batch.num_rows == 1 and size_bytes > ROW_BYTES_MAX:
        raise NotMappable(f"a row has {size_bytes} bytes, at most {ROW_BYTES_MAX} are read")
    if size_bytes <= PIECE_BYTES_MAX or batch.num_rows == 1:
        yield _written_out(batch, schema)
    else:
        half = batch.num_rows // 2
        yield from pieces(batch.slice(0, half), schema)
        yield from pieces(batch.slice(half), schema)


def _bytes(array: _Array) -> int:
    """The bytes of an array whose dictionaries are written out."""
    type_ = array.type
    if isinstance(type_, pa.DictionaryType):
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        total = pc.sum(lengths.take(array.indices)).as_py()
        return int(total or 0) + int(array.indices.nbytes)
    if isinstance(type_, pa.MapType):
        # A slice of a map shares the entries of all rows.
        plain = pa.list_(pa.struct([("key", type_.key_type), ("value", type_.item_type)]))
        return _bytes(array.cast(plain))
    if isinstance(type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return _bytes(array.flatten()) + 8 * len(array)
    if isinstance(type_, pa.StructType):
        return sum(map(_bytes, array.flatten()))
    return int(array.nbytes)


def _written_out(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    fields = [schema.field(name) for name in batch.schema.names]
    columns = [
        column if column.type == field.type else _as_plain(column, field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _as_plain(array: _Array, type_: pa.DataType) -> _Array:
    if isinstance(array.type, pa.DictionaryType):
        return array.dictionary_decode().cast(type_)
    # A slice of a list shares the values of all rows, and a cast would write all of them out.
    decoded = array.take(pa.array(range(len(array)), pa.int64()))
    return decoded.cast(type_)
