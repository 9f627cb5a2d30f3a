"""Recovery of a stream: digests of its latest babies, and the end of its tail."""

import time
from dataclasses import replace

import psycopg
import pytest

from collector.otlp.export import CommittedDigests
from collector.streams.babies import ListedBaby
from collector.streams.stream import HOLE_OFFSETS_MAX, end_of_tail, read_recent_digests
from segments.baby import encode_baby
from segments.keys import baby_key
from segments.store.interface import ObjectInfo
from tests.support.collector.seat import Seat, run
from tests.support.collector.stream_babies import adopt_tail, data_baby, opened, put


def test_digests_are_read_from_the_newest_babies_within_the_bound(seat: Seat) -> None:
    stream_id, _ = opened(seat)
    sizes = []
    for offset in range(3):
        baby = data_baby(seat, f"r{offset}")
        sizes.append(len(encode_baby(baby)))
        put(seat, stream_id, offset, baby)
    run(adopt_tail(replace(seat, digests=CommittedDigests(600.0)), stream_id, 0))
    now_nanos = seat.ground.store.head(baby_key(stream_id, 2)).modified_at_nanos

    run(read_recent_digests(seat.tail(stream_id), 3, sum(sizes[1:]), now_nanos))

    known = [f"r{n:<15}".encode() in seat.digests for n in range(3)]
    assert known == [False, True, True]


def test_digests_of_old_babies_are_not_read(seat: Seat) -> None:
    stream_id, _ = opened(seat)
    put(seat, stream_id, 0, data_baby(seat, "r0"))
    written_at = seat.ground.store.head(baby_key(stream_id, 0)).modified_at_nanos

    run(read_recent_digests(seat.tail(stream_id), 1, 10**9, written_at + 601 * 10**9))

    assert len(seat.digests) == 0


def test_a_baby_that_is_not_committed_hides_no_digests_before_it(seat: Seat) -> None:
    stream_id, _ = opened(seat)
    put(seat, stream_id, 0, data_baby(seat, "committed"))
    run(adopt_tail(replace(seat, digests=CommittedDigests(600.0)), stream_id, 0))
    put(seat, stream_id, 1, data_baby(seat, "put later"))
    now_nanos = seat.ground.store.head(baby_key(stream_id, 1)).modified_at_nanos

    run(read_recent_digests(seat.tail(stream_id), 2, 10**9, now_nanos))

    known = [f"{name:<16}".encode() in seat.digests for name in ("committed", "put later")]
    assert known == [True, False]


def test_digests_are_read_far_into_a_stream(seat: Seat, database_url: str) -> None:
    """Meta tells the flushes of at most a thousand offsets at once."""
    stream_id, _ = opened(seat)
    put(seat, stream_id, 0, data_baby(seat, "late"))
    run(adopt_tail(replace(seat, digests=CommittedDigests(600.0)), stream_id, 0))
    last = 3 * HOLE_OFFSETS_MAX
    with psycopg.connect(database_url) as connection:
        connection.execute('UPDATE baby_segments SET "offset" = %s', (last,))
        connection.execute("UPDATE stream_heads SET committed_offset = %s", (last,))
    seat.ground.store.put_if_absent(
        baby_key(stream_id, last), seat.ground.store.get(baby_key(stream_id, 0))
    )

    run(read_recent_digests(seat.tail(stream_id), last + 1, 10**9, time.time_ns()))

    assert f"{'late':<16}".encode() in seat.digests


@pytest.mark.parametrize(
    ("next_offset", "offsets", "end"),
    [
        pytest.param(0, [], 0, id="nothing"),
        pytest.param(5, [5, 6], 7, id="a run"),
        pytest.param(5, [7], 8, id="a hole"),
        pytest.param(0, [HOLE_OFFSETS_MAX], HOLE_OFFSETS_MAX + 1, id="the widest hole"),
        pytest.param(0, [1, HOLE_OFFSETS_MAX + 3], 2, id="not ours"),
    ],
)
def test_the_tail_ends_before_what_no_collector_of_ours_left(
    next_offset: int, offsets: list[int], end: int
) -> None:
    listed = [ListedBaby(offset, ObjectInfo("k", 1, 1)) for offset in offsets]

    assert end_of_tail(next_offset, listed) == end
