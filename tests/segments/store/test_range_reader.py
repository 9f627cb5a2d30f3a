"""The range reader: right bytes for any reads, few requests for sequential ones."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.store.range_reader import RANGE_BYTES_MAX, RANGE_BYTES_MIN, RangeReader

BODY = bytes(range(251)) * 4_200  # A little more than 1 MiB.
MIB = 1 << 20

# Places and sizes of reads; without a place a read continues the one before.
places = st.none() | st.integers(0, len(BODY) + 9)
sizes = st.integers(0, 3 * RANGE_BYTES_MIN) | st.integers(0, len(BODY))
moves = st.lists(st.tuples(places, sizes), max_size=12)


class Ranges:
    """Serves ranges of bytes and counts them."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.asked: list[tuple[int, int]] = []
        self._lock = threading.Lock()

    def read(self, start: int, length: int) -> bytes:
        with self._lock:
            self.asked.append((start, length))
        return self.body[start : start + length]


@given(moves)
def test_any_reads_give_the_bytes_of_the_object(steps: list[tuple[int | None, int]]) -> None:
    reader = RangeReader(Ranges(BODY).read, len(BODY))

    for place, size in steps:
        position = reader.tell() if place is None else reader.seek(place)
        assert reader.read(size) == BODY[position : position + size]
        assert reader.tell() == max(position, min(position + size, len(BODY)))


def test_a_read_before_what_was_read_ahead_gives_its_own_bytes() -> None:
    reader = RangeReader(Ranges(BODY).read, len(BODY))
    reader.seek(5 * RANGE_BYTES_MIN)
    for _ in range(2):
        reader.read(RANGE_BYTES_MIN)

    reader.seek(7)

    assert reader.read(100) == BODY[7:107]


def test_a_sequential_read_asks_for_ever_larger_ranges_once_each() -> None:
    body = bytes(40 * MIB)
    ranges = Ranges(body)
    reader = RangeReader(ranges.read, len(body))

    total = 0
    while piece := reader.read(100_000):
        total += len(piece)

    assert total == len(body)
    assert sum(length for _, length in ranges.asked) == len(body)
    assert max(length for _, length in ranges.asked) == RANGE_BYTES_MAX
    assert len(ranges.asked) < 15


def test_one_large_read_is_split_and_never_reads_past_what_was_asked() -> None:
    ranges = Ranges(bytes(40 * MIB))
    reader = RangeReader(ranges.read, 40 * MIB)

    assert len(reader.read(20 * MIB)) == 20 * MIB

    assert [length // MIB for _, length in ranges.asked] == [8, 8, 4]


def test_a_read_at_the_end_asks_for_nothing_else() -> None:
    ranges = Ranges(BODY)
    reader = RangeReader(ranges.read, len(BODY))

    reader.seek(-8, 2)
    reader.read(8)

    assert ranges.asked == [(len(BODY) - 8, 8)]


def test_a_jump_asks_for_a_small_range_only() -> None:
    ranges = Ranges(BODY)
    reader = RangeReader(ranges.read, len(BODY))

    for position in (900_000, 10, 500_000):
        reader.seek(position)
        reader.read(4)

    assert [length for _, length in ranges.asked] == [RANGE_BYTES_MIN] * 3


def test_an_object_that_ends_too_early_is_an_error() -> None:
    reader = RangeReader(Ranges(BODY).read, len(BODY) + 10)

    with pytest.raises(EOFError):
        reader.read()


def test_a_failure_while_reading_ahead_reaches_the_reader() -> None:
    def read(start: int, length: int) -> bytes:
        if start:
            raise OSError("network gone")
        return bytes(length)

    reader = RangeReader(read, 40 * MIB)

    with pytest.raises(OSError, match="network gone"):
        reader.read()


def test_a_buffer_is_filled_like_a_read() -> None:
    reader = RangeReader(Ranges(BODY).read, len(BODY))
    buffer = bytearray(10)

    assert reader.readinto(buffer) == 10
    assert bytes(buffer) == BODY[:10]
