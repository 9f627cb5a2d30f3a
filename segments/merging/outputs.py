"""The check of a merge's outputs against its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from segments.errors import CorruptObject
from segments.parquet.footer import SegmentFacts


class MergedRows(Protocol):
    """Rows of an input, and their time bounds in nanoseconds, both ends inclusive."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def start_time(self) -> int:
        """Earliest event time."""
        ...

    @property
    def end_time(self) -> int:
        """Latest event time."""
        ...


def check_outputs(outputs: Sequence[SegmentFacts], inputs: Sequence[MergedRows]) -> None:
    """Compare the output's rows with the inputs'; a difference is our own mistake."""
    rows = sum(item.rows for item in inputs)
    start, end = min(i.start_time for i in inputs), max(i.end_time for i in inputs)
    written = sum(facts.rows for facts in outputs)
    first, last = min(f.start_time for f in outputs), max(f.end_time for f in outputs)
    if (written, first, last) != (rows, start, end):
        raise CorruptObject(
            f"the merge wrote {written} rows in {first}..{last}, "
            f"its inputs hold {rows} in {start}..{end}"
        )
