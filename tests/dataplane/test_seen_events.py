"""Duplicates of an event are removed from decoded rows, in whatever batches the rows come."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dataplane.babies.deduplication import SeenEvents, hashes_of, ints_of
from segments.deduplication import Deduplication
from segments.parquet.lineage import day_of

DAY_NANOS = 86_400 * 10**9
# A deduplication key or none, a time, and the place of its payload.
Row = tuple[str | None, int, int]
BABIES = (("one", 4), ("one", 5), ("two", 0))
_TIMES = st.integers(-3, 3).map(lambda days: days * DAY_NANOS) | st.integers(-(2**62), 2**62)
_ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from("abcdefghijklmnopqrst"), _TIMES, st.integers(0, len(BABIES) - 1)
    ),
    max_size=12,
)


@given(batches=st.lists(_ROWS, max_size=4), claimed=st.sets(st.sampled_from("abc"), max_size=2))
def test_rows_and_identities_are_those_of_a_walk_over_the_rows(
    batches: list[list[Row]], claimed: set[str]
) -> None:
    seen = SeenEvents(Deduplication(1, "id"), {_hash(name) for name in claimed})
    expected = list[Row]()
    known, duplicates, without = set(claimed), 0, 0

    for rows in batches:
        kept = list[Row]()
        for row in rows:
            name = row[0]
            without += name is None
            duplicates += name in known
            if name not in known:
                kept.append(row)
            if name is not None and name not in known:
                known.add(name)
                expected.append(row)
        # As a reader cuts them: from a larger batch.
        payloads: Any = pa.array([1, *(row[2] for row in rows), 0], pa.int32())
        cut = _batch([("x", 0, 0), *rows, ("y", 0, 0)]).slice(1, len(rows))
        distinct = seen.distinct(cut, payloads.slice(1, len(rows)), BABIES)
        assert distinct.column("id").to_pylist() == [name for name, _, _ in kept]

    assert (seen.duplicates, seen.without, len(seen)) == (duplicates, without, len(expected))
    assert seen.hashes == b"".join(_hash(name) for name, _, _ in expected if name is not None)
    assert list(seen.days) == [day_of(nanos) for _, nanos, _ in expected]
    assert [seen.baby_ids[place] for place in seen.babies] == [BABIES[at] for _, _, at in expected]
    assert set(seen.baby_ids) == {BABIES[at] for _, _, at in expected}


def _batch(rows: list[Row]) -> pa.RecordBatch:
    times = pa.array([nanos for _, nanos, _ in rows], pa.int64()).cast(pa.timestamp("ns", "UTC"))
    names = pa.array([name for name, _, _ in rows], pa.string())
    return pa.record_batch({"id": names.dictionary_encode(), "timestamp": times})


def _hash(name: str) -> bytes:
    (digest,) = hashes_of(pa.array([name]))
    assert digest is not None
    return digest


def test_numbers_of_a_slice_are_its_own() -> None:
    numbers = pa.array([1, 2, 3, 4], pa.int32())

    assert ints_of(numbers.slice(1, 2)).tolist() == [2, 3]
    assert ints_of(numbers[:0]).tolist() == []
