"""Each invariant's check: silent where it holds, one violation where it does not."""

from contextlib import closing
from dataclasses import replace

import pytest

from segments.keys import merged_prefix
from segments.parquet.footer import RegisteredFacts, SegmentFooter, StoredFooter
from segments.parquet.lineage import BatchPart
from segplane.fsck.footer_check import BatchParts, SegmentState, footer_matches

DATASET = "01932c00-0000-7000-8000-000000000001"
SEGMENT = SegmentState(
    "s1", f"{merged_prefix(DATASET)}a.parquet", RegisteredFacts(DATASET, 10, 1, 5)
)
STORED = StoredFooter(
    SegmentFooter(DATASET, "nursery", (BatchPart("b1", 1),)), {"logs": 10}, 1, 5, (), ()
)


@pytest.mark.parametrize(
    ("stored", "count"),
    [
        (STORED, 0),
        (replace(STORED, rows_by_signal={"logs": 9}), 1),
        (replace(STORED, start_time=0, end_time=6), 2),
    ],
)
def test_a_footer_that_differs_is_found(stored: StoredFooter, count: int) -> None:
    assert len(list(footer_matches(SEGMENT, stored))) == count


def held_twice(*held: tuple[SegmentState, StoredFooter], live: int = 2) -> list[str]:
    """Invariants that footers violate, read one after the other."""
    with closing(BatchParts(lambda _: live)) as parts:
        return [v.invariant for one in held for v in parts.held_twice(*one)]


def test_a_batch_in_two_live_segments_is_found() -> None:
    twin = replace(SEGMENT, segment_id="s2")
    other = replace(STORED, footer=replace(STORED.footer, batches=(BatchPart("b1", 2, 2),)))

    assert held_twice((SEGMENT, STORED), (twin, other)) == []
    assert held_twice((SEGMENT, STORED), (twin, STORED)) == ["I2"]


def test_a_batch_of_a_segment_that_was_merged_meanwhile_is_held_once() -> None:
    merged = replace(SEGMENT, segment_id="s2")

    assert held_twice((SEGMENT, STORED), (merged, STORED), live=1) == []


def test_the_days_of_a_divided_batch_are_distinguishable() -> None:
    def holds(*days: int) -> StoredFooter:
        return replace(
            STORED, footer=replace(STORED.footer, batches=(BatchPart("b1", 1, 0, *days),))
        )

    twin = replace(SEGMENT, segment_id="s2")

    assert held_twice((SEGMENT, holds(0, 4)), (twin, holds(5, 9))) == []
    assert held_twice((SEGMENT, holds(0, 5)), (twin, holds(5, 9))) == ["I2"]
    assert held_twice((SEGMENT, STORED), (twin, holds(5, 9))) == ["I2"]
