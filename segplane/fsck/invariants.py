"""Violations of invariants, and those that a segment's footer shows (docs/invariants.md).

`segplane fsck` and the tests share them. I1 to I3 need a log of sent records; the end-to-end tests
and the demo keep one and check these. I1 and I2 hold less the loss ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from segments.parquet.footer import RegisteredFacts, StoredFooter, differences


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated invariant, by its number in docs/invariants.md."""

    invariant: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class SegmentState:
    """One live segment as meta reports it; `object_key` is the full key."""

    segment_id: str
    object_key: str
    registered: RegisteredFacts
    # A client registered it without facts: it need not be a segment.
    is_foreign: bool = False


def footer_matches(segment: SegmentState, stored: StoredFooter) -> Iterator[Violation]:
    """I6: rows, times and dataset are as registered."""
    for text in differences(stored, segment.registered):
        yield Violation("I6", segment.segment_id, text)
