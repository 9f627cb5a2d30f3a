"""Order of rows: sorts tables by a section's key columns, ascending, nulls last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from segments.parquet.schema import sort_columns
from segments.parquet.spec import SegmentSpec
from segments.signals import Signal

# Strings of 2 GiB are more than Arrow's 32-bit offsets reach: longer columns move in pieces.
_TAKE_BYTES_MAX = 1024 * 1024 * 1024
_PIECE_BYTES = 128 * 1024 * 1024
# Below, a call for each column costs more than the columns.
_SMALL_ROWS = 8_192


def sort_table(table: pa.Table, spec: SegmentSpec, signal: Signal) -> pa.Table:
    """Sort one section by its key columns; equal keys keep their order."""
    return sort_by(table, sort_columns(spec, signal))


def sort_by(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Sort a table by these columns; dictionaries stay dictionaries."""
    unified = table.unify_dictionaries()
    order = _order(_one_array(_ranks(unified, name)) for name in names)
    if table.num_rows < _SMALL_ROWS and unified.nbytes <= _TAKE_BYTES_MAX:
        return unified.combine_chunks().take(order)
    columns = [_taken(column, order) for column in unified.columns]
    return pa.table(columns, schema=table.schema)


def sort_owned(table: pa.Table, owners: pa.Array[Any], names: Sequence[str]) -> pa.Table:
    """Sort a table by each row's owner, a number, and then by these columns; one chunk a column.

    For tables of some megabytes, of which many calls' worth of small ones is made.
    """
    whole = table.unify_dictionaries().combine_chunks()
    order = _order((owners, *(_ranks(whole, name).combine_chunks() for name in names)))
    return whole.take(order)


def is_sorted(batch: pa.RecordBatch, names: Sequence[str]) -> bool:
    """Return whether all rows are already in the order of `sort_by`."""
    if batch.num_rows < 2:
        return True
    table = pa.Table.from_batches([batch])
    # Neighbours that are equal in all columns so far; the others are in order whatever follows.
    tied: Any = True
    for name in names:
        column = _without_nulls(_ranks(table, name).combine_chunks())
        row, next_row = column.slice(0, len(column) - 1), column.slice(1)
        if pc.any(pc.and_(tied, pc.greater(row, next_row))).as_py():
            return False
        tied = pc.and_(tied, pc.equal(row, next_row))
        if not pc.any(tied).as_py():
            break
    return True


def compact(
    batch: pa.RecordBatch, above_bytes: int = -1, *, but_for: Collection[str] = ()
) -> pa.RecordBatch:
    """Drop values that no row uses, and repeated ones, from dictionaries above a size.

    A slice keeps its parent's whole dictionary, and a file would store it. Columns that `but_for`
    names stay as they are.
    """
    return _compacted(batch, lambda column: column.dictionary.nbytes > above_bytes, but_for)


def shrink(table: pa.Table) -> pa.Table:
    """Compact dictionaries with more values than there are rows: a small slice of a large table's.

    A sort or a join of such a slice would go through all of the values.
    """
    batches = [
        _compacted(batch, lambda column: len(column.dictionary) > len(column))
        for batch in table.to_batches()
    ]
    return pa.Table.from_batches(batches, schema=table.schema)


def _order(keys: Iterable[pa.Array[Any] | pa.ChunkedArray[Any]]) -> pa.Array[Any]:
    """Return the numbers of the rows in the order of these keys, the first of them heaviest."""
    # One array each: comparing rows of chunked columns looks up the chunk for every comparison.
    columns = list(keys)
    names = [str(i) for i in range(len(columns))]
    return pc.sort_indices(
        pa.table(columns, names),
        sort_keys=[(name, "ascending", "at_end") for name in names],  # type: ignore[misc]
    )


def _ranks(table: pa.Table, name: str) -> pa.ChunkedArray[Any]:
    """Turn a key column into narrow numbers of the same order.

    All chunks of a dictionary column must share one dictionary.
    """
    column = table[name]
    if pa.types.is_temporal(column.type):
        return column.cast(pa.int64())
    ranked: list[pa.Array[Any]] = []
    ranks: pa.Array[Any] | None = None
    for chunk in column.chunks:
        if not isinstance(chunk, pa.DictionaryArray):
            return column
        if ranks is None:
            ranks = pc.rank(chunk.dictionary, tiebreaker="dense").cast(pa.int32())
        ranked.append(ranks.take(chunk.indices))
    return pa.chunked_array(ranked, pa.int32())


def _without_nulls(column: pa.Array[Any]) -> pa.Array[Any]:
    """Turn a column with nulls or NaN, which do not compare, into numbers of the same order."""
    if column.null_count == 0 and not pa.types.is_floating(column.type):
        return column
    ranks: pa.Array[Any] = pc.rank(column, tiebreaker="dense")
    return ranks


def _taken(column: pa.ChunkedArray[Any], order: pa.Array[Any]) -> pa.ChunkedArray[Any]:
    """Bring one column into order; taking from one array is twice as fast as from its chunks."""
    if _is_constant(column):
        # One chunk: a table is cut into batches wherever one of its columns has a chunk's end.
        return pa.chunked_array([_one_array(column)], column.type)
    # The size of a dictionary column is slow to tell.
    if not pa.types.is_string(column.type) or column.nbytes <= _TAKE_BYTES_MAX:
        return pa.chunked_array([pc.take(_one_array(column), order, boundscheck=False)])
    whole = column.cast(pa.large_string()).combine_chunks()
    rows = max(1, len(order) * _PIECE_BYTES // column.nbytes)
    pieces = [whole.take(order.slice(start, rows)) for start in range(0, len(order), rows)]
    return pa.chunked_array(pieces).cast(pa.string())


def _one_array(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """Join the chunks; `combine_chunks` copies a single one as well."""
    joined: Any = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return cast("pa.Array[Any]", joined)


def _is_constant(column: pa.ChunkedArray[Any]) -> bool:
    """Say, if that is cheap, whether all rows are alike, so that any order is the same.

    All chunks of a dictionary column must share one dictionary.
    """
    if column.null_count or not column.num_chunks:
        return column.null_count == len(column)
    first: Any = column.chunk(0)
    return isinstance(first, pa.DictionaryArray) and len(first.dictionary) == 1


def _compacted(
    batch: pa.RecordBatch,
    is_wanted: Callable[[pa.DictionaryArray[Any, Any]], bool],
    but_for: Collection[str] = (),
) -> pa.RecordBatch:
    columns = [
        _compact_dictionary(column)
        if isinstance(column, pa.DictionaryArray) and name not in but_for and is_wanted(column)
        else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.record_batch(columns, schema=batch.schema)


def _compact_dictionary(column: pa.DictionaryArray[Any, Any]) -> pa.Array[Any]:
    if len(column.dictionary) == 1 and column.null_count < len(column):
        return column
    used = pc.drop_null(pc.unique(column.indices))
    values = column.dictionary.take(used).dictionary_encode()
    if len(used) == len(column.dictionary) == len(values.dictionary):
        return column
    codes = values.indices.take(pc.index_in(column.indices, value_set=used))
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), values.dictionary)
