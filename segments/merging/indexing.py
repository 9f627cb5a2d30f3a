"""Decides whether a merge writes a token index."""

from collections.abc import Iterable

from segments.merging.inputs import MergeInput
from segments.parquet.writer import IndexBuilder

# Each merge makes its index again and takes half as long again for it. Files of smaller ones are
# merged again soon.
INDEXED_ROWS_MIN = 1_000_000


def index_builder(
    inputs: Iterable[MergeInput], rows_min: int = INDEXED_ROWS_MIN
) -> IndexBuilder | None:
    """Return what builds the index of an output of a merge; None if it gets none."""
    if sum(item.rows for item in inputs) < rows_min:
        return None
    # numpy takes a tenth of a second to import.
    from segments.token_index.builder import TokenIndexBuilder

    return TokenIndexBuilder()
