"""Decides whether a merge writes a token index."""

from collections.abc import Iterable

from segments.merging.inputs import MergeInput
from segments.parquet.writer import IndexBuilder

# Each merge makes its index again and takes half as long again for it. Files of smaller ones are
# merged again soon. Either is enough: 64 MiB of long records are few rows.
INDEXED_ROWS_MIN = 1_000_000
INDEXED_BYTES_MIN = 64 * 1024 * 1024


def index_builder(
    inputs: Iterable[MergeInput],
    rows_min: int = INDEXED_ROWS_MIN,
    bytes_min: int = INDEXED_BYTES_MIN,
) -> IndexBuilder | None:
    """Return what builds the index of an output of a merge; None if it gets none."""
    known = list(inputs)
    rows, size_bytes = sum(i.rows for i in known), sum(i.size_bytes for i in known)
    if rows < rows_min and size_bytes < bytes_min:
        return None
    # numpy takes a tenth of a second to import.
    from segments.token_index.builder import TokenIndexBuilder

    return TokenIndexBuilder()
