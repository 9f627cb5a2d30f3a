"""Offset spans: joining them keeps every offset."""

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from segments.offsets import OffsetSpan, coalesce, spans_of

spans = st.lists(
    st.builds(
        lambda stream, start, length: OffsetSpan(stream, start, start + length),
        st.sampled_from("ab"),
        st.integers(0, 30),
        st.integers(0, 5),
    )
)


def offsets(items: Iterable[OffsetSpan]) -> set[tuple[str, int]]:
    return {(s.stream_id, n) for s in items for n in range(s.start, s.end + 1)}


@given(spans)
def test_joined_spans_hold_the_same_offsets_and_never_touch(found: list[OffsetSpan]) -> None:
    joined = coalesce(found)

    assert offsets(joined) == offsets(found)
    assert sum(span.num_offsets for span in joined) == len(offsets(found))
    for a, b in pairwise(joined):
        assert a.stream_id < b.stream_id or a.end + 1 < b.start


@given(st.sets(st.integers(0, 40)))
def test_the_spans_of_offsets_hold_exactly_them(found: set[int]) -> None:
    assert offsets(spans_of("s", found)) == {("s", offset) for offset in found}
