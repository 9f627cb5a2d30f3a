"""The inputs of a merge as meta has them registered, and the check of its outputs against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segments.errors import CorruptObject
from segments.foreign.origin import FileOrigin
from segments.parquet.footer import SegmentFacts


@dataclass(frozen=True, slots=True)
class MergeInput:
    """A segment as meta has it registered; times in nanoseconds, both ends inclusive."""

    segment_id: str
    key: str
    rows: int
    start_time: int
    end_time: int
    # Its writer, and for a file of others the column of its times, "" = the usual one.
    origin: FileOrigin = FileOrigin.SEGMENT
    time_column: str = ""
    size_bytes: int = 0


def check_outputs(outputs: Sequence[SegmentFacts], inputs: Sequence[MergeInput]) -> None:
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
