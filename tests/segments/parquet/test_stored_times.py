"""Time bounds of stored times are exact, however the rows come."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from segments.parquet.columns.stored_times import split_time, widened_bounds
from segments.parquet.schema import TIMESTAMP

# Many share their microsecond, at both ends of the range too.
TIMES = st.one_of(
    st.integers(-3_000, 3_000),
    st.integers(2**63 - 3_000, 2**63 - 1),
    st.integers(-(2**63), -(2**63) + 3_000),
)


@given(st.lists(st.lists(TIMES, min_size=1), min_size=1))
def test_bounds_widened_batch_by_batch_are_those_of_all_times(batches: list[list[int]]) -> None:
    stored = whole = None
    for nanos in batches:
        times = pa.array(nanos, pa.int64()).cast(TIMESTAMP)

        stored = widened_bounds(stored, *split_time(times))
        whole = widened_bounds(whole, times)

    every = [time for nanos in batches for time in nanos]
    assert stored == whole == (min(every), max(every))
