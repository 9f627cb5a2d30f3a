"""Violations of invariants, and those that a segment's footer shows (docs/invariants.md).

`segplane fsck` and the tests share them. I1 to I3 need a log of sent records; the end-to-end tests
and the demo keep one and check these. I1 and I2 hold less the loss ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from segments.parquet.footer import StoredFooter


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated invariant, by its number in docs/invariants.md."""

    invariant: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class SegmentState:
    """One live segment as meta reports it; `object_key` is the full key, times in nanoseconds."""

    segment_id: str
    dataset_id: str
    object_key: str
    size_bytes: int
    rows: int
    start_time: int
    end_time: int
    # A client registered it without facts: it need not be a segment.
    is_foreign: bool = False


def footer_matches(segment: SegmentState, stored: StoredFooter) -> Iterator[Violation]:
    """I6: rows, times and dataset are as registered."""
    pairs = (
        ("dataset", stored.footer.dataset_id, segment.dataset_id),
        ("rows", stored.rows, segment.rows),
        ("start time", stored.start_time, segment.start_time),
        ("end time", stored.end_time, segment.end_time),
    )
    for name, in_file, registered in pairs:
        if in_file != registered:
            text = f"{name} in the file is {in_file}, registered is {registered}"
            yield Violation("I6", segment.segment_id, text)
