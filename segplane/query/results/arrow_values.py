"""Names for columns of a result that have equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def unique_names(names: Sequence[str]) -> list[str]:
    """Return a name for each column, of equal ones the later with a number: a, a1, a2."""
    taken = set(names)
    unique: list[str] = []
    for name in names:
        if name in unique:
            number = next(n for n in range(1, len(names) + 1) if f"{name}{n}" not in taken)
            name = f"{name}{number}"
            taken.add(name)
        unique.append(name)
    return unique


def with_unique_names(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the same rows with a different name for each column."""
    import pyarrow as pa

    names = unique_names(reader.schema.names)
    if names == reader.schema.names:
        return reader
    schema = pa.schema(
        field.with_name(name) for field, name in zip(reader.schema, names, strict=True)
    )
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)
