"""Lineage by day: what outputs of a divided merge hold, and what a merge of them holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.offsets import OffsetSpan
from segments.parquet.lineage import (
    DAY_MAX,
    DAY_MIN,
    DAY_NANOS,
    BatchPart,
    day_of,
    joined,
    of_days,
    pack,
    unpack,
)

WHOLE = (BatchPart("a", 1), BatchPart("a", 2, 2), BatchPart("b", 1, 1))
cuts = st.sets(st.integers(DAY_MIN + 1, DAY_MAX), max_size=5).map(sorted)


def divided(batches: tuple[BatchPart, ...], starts: list[int]) -> list[tuple[BatchPart, ...]]:
    ends = [*(start - 1 for start in starts), DAY_MAX]
    spans = zip([DAY_MIN, *starts], ends, strict=True)
    return [of_days(batches, first, last) for first, last in spans]


@settings(deadline=None)
@given(cuts, cuts)
def test_a_merge_of_all_outputs_of_a_divided_merge_holds_what_it_held(
    first: list[int], second: list[int]
) -> None:
    outputs = divided(WHOLE, first)
    again = [piece for output in outputs for piece in divided(output, second)]

    assert joined(batch for output in outputs for batch in output) == WHOLE
    assert joined(batch for output in again for batch in output) == WHOLE
    days = [(b.batch_id, b.part, b.first_day) for output in again for b in output]
    assert len(days) == len(set(days)) == 3 * (len({*first, *second}) + 1)


def test_days_that_do_not_adjoin_stay_apart() -> None:
    apart = (BatchPart("a", 1, 0, 5, 6), BatchPart("a", 1, 0, 8, DAY_MAX))

    assert joined(apart) == apart
    assert of_days(apart, 6, 7) == (BatchPart("a", 1, 0, 6, 6),)
    assert of_days(apart, DAY_MIN, 4) == ()


@pytest.mark.parametrize(
    ("nanos", "day"),
    [
        pytest.param(0, 0, id="the first instant of 1970"),
        pytest.param(-1, -1, id="the last one before"),
        pytest.param(DAY_NANOS - 1, 0, id="the last of a day"),
        pytest.param(-(2**63), DAY_MIN, id="the earliest"),
        pytest.param(2**63 - 1, DAY_MAX, id="the latest"),
    ],
)
def test_every_time_has_a_day(nanos: int, day: int) -> None:
    assert day_of(nanos) == day


@settings(deadline=None)
@given(cuts)
def test_packed_lineage_comes_back(starts: list[int]) -> None:
    ranges = (OffsetSpan("s", 0, 4), OffsetSpan("s", 6, 6))
    for batches in divided(WHOLE, starts):
        assert unpack(pack(batches, ranges)) == (batches, ranges)


def test_a_whole_part_is_packed_as_before_days() -> None:
    assert unpack(pack(WHOLE, ()))[0] == WHOLE
    assert len(pack(WHOLE, ())) < len(pack(of_days(WHOLE, 0, 1), ()))
