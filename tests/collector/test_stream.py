"""One stream written by several hands: order, displacement, holes, stops, lost answers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest

from collector.ingestion import Ingestion
from collector.streams.stream import Displaced, FlushTooOld, StreamEnded, StreamWriter
from dataplane.baby_facts import CommitFacts
from meta.client import MetaClient
from meta.errors import Unavailable
from meta.self_report import Progress
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.errors import StoreUnavailable
from segments.keys import baby_key
from segments.store.interface import ObjectStore
from tests.support.collector.exports import log_export
from tests.support.collector.seat import Seat, run
from tests.support.collector.stream_babies import adopt_tail, data_baby, opened, put


def test_overlapping_flushes_are_committed_in_the_order_of_offsets(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)

    async def scenario() -> list[int]:
        writer = StreamWriter(seat.tail(stream_id), next_offset)
        flushes = [writer.write(data_baby(seat, f"r{n}")) for n in range(8)]
        return sorted(written.offset for written in await asyncio.gather(*flushes))

    assert run(scenario()) == list(range(8))
    assert seat.ground.committed_ids() == [f"r{n}" for n in range(8)]


def test_anothers_baby_is_committed_and_ones_own_displaced(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    put(seat, stream_id, 0, data_baby(seat, "theirs"))
    own = data_baby(seat, "own")

    async def scenario() -> int:
        writer = StreamWriter(seat.tail(stream_id), next_offset)
        with pytest.raises(Displaced):
            await writer.write(own)
        return (await writer.write(own)).offset

    assert run(scenario()) == 1
    assert seat.ground.committed_ids() == ["own", "theirs"]
    assert b"theirs          " in seat.digests


@dataclass(frozen=True)
class StoreWithLostAnswers:
    """A store whose first put of each key happens, but is answered by a time-out."""

    inner: ObjectStore
    lost: set[str] = field(default_factory=set)

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        self.inner.put_if_absent(key, *pieces)
        if key not in self.lost:
            self.lost.add(key)
            raise StoreUnavailable("no answer")

    def __getattr__(self, name: str) -> Callable[..., object]:
        call: Callable[..., object] = getattr(self.inner, name)
        return call


def test_a_put_whose_answer_was_lost_is_committed_where_it_stands(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    lossy = StoreWithLostAnswers(seat.ground.store)

    async def scenario() -> int:
        tail = seat.tail(stream_id)
        babies = replace(tail.babies, store=lossy)  # type: ignore[arg-type]
        writer = StreamWriter(replace(tail, babies=babies), next_offset)
        return (await writer.write(data_baby(seat, "a"))).offset

    assert run(scenario()) == 0
    assert seat.ground.committed_ids() == ["a"]


def test_a_gap_is_closed_by_adopting_what_stands_and_filling_the_hole(seat: Seat) -> None:
    stream_id, _ = opened(seat)
    put(seat, stream_id, 1, data_baby(seat, "left behind"))

    async def scenario() -> int:
        writer = StreamWriter(seat.tail(stream_id), 3)
        return (await writer.write(data_baby(seat, "mine"))).offset

    assert run(scenario()) == 3
    kinds = [baby.kind for baby in seat.ground.committed_babies()]
    assert kinds == [BabyKind.FILLER, BabyKind.DATA, BabyKind.FILLER, BabyKind.DATA]
    assert seat.ground.committed_ids() == ["left behind", "mine"]


def test_a_tail_is_adopted_with_its_digests(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    put(seat, stream_id, 0, data_baby(seat, "a"))
    put(seat, stream_id, 2, data_baby(seat, "c"))

    assert run(adopt_tail(seat, stream_id, next_offset)) == 3

    assert seat.ground.committed_ids() == ["a", "c"]
    assert b"c               " in seat.digests


def test_a_baby_that_cannot_be_read_is_committed_as_empty(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    damaged = bytearray(encode_baby(data_baby(seat, "a")))
    damaged[20] ^= 1
    seat.ground.store.put_if_absent(baby_key(stream_id, 0), bytes(damaged))

    assert run(adopt_tail(seat, stream_id, next_offset)) == 1

    assert seat.ground.commits() == [(stream_id, 0, 0)]


def test_an_unstamped_baby_is_counted_by_reading_it(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    part = TokenPart(seat.token.token_id, "logs", (log_export("a", "b"), b"\xff"))
    put(seat, stream_id, 0, Baby((part,), is_stamped=False))

    run(adopt_tail(seat, stream_id, next_offset))

    assert seat.ground.commits() == [(stream_id, 0, 3)]


def test_two_adopters_of_one_tail_do_not_hinder_one_another(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    for offset in (0, 1, 4):
        put(seat, stream_id, offset, data_baby(seat, f"r{offset}"))

    async def scenario() -> list[int]:
        tails = [seat.tail(stream_id), seat.tail(stream_id)]
        return await asyncio.gather(*(tail.adopt_all(next_offset) for tail in tails))

    assert run(scenario()) == [5, 5]
    assert seat.ground.committed_ids() == ["r0", "r1", "r4"]


def test_a_stop_message_in_the_tail_ends_the_stream_for_whoever_meets_it(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    put(seat, stream_id, 0, data_baby(seat, "a"))
    put(seat, stream_id, 1, Baby((), BabyKind.STOP, uuid4().bytes, 5))
    put(seat, stream_id, 2, data_baby(seat, "acknowledged to nobody"))

    with pytest.raises(StreamEnded):
        run(adopt_tail(seat, stream_id, next_offset))

    assert seat.ground.committed_ids() == ["a"]
    assert opened(seat)[0] != stream_id


def test_a_stopped_stream_refuses_flushes_and_takes_none_back(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    writer_stream = stream_id

    async def scenario() -> list[BaseException | object]:
        writer = StreamWriter(seat.tail(writer_stream), next_offset)
        await writer.write(data_baby(seat, "before"))
        seat.ground.stop_stream(stream_id, 0)
        flushes = [writer.write(data_baby(seat, f"late {n}")) for n in range(3)]
        return list(await asyncio.gather(*flushes, return_exceptions=True))

    results = run(scenario())

    assert [type(result) for result in results] == [StreamEnded] * 3
    assert seat.ground.committed_ids() == ["before"]


def test_a_late_put_at_an_offset_that_was_reaped_is_written_elsewhere(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)

    async def scenario() -> int:
        ahead = StreamWriter(seat.tail(stream_id), next_offset)
        for n in range(3):
            await ahead.write(data_baby(seat, f"r{n}"))
        seat.ground.store.delete([baby_key(stream_id, 0)])
        stale = StreamWriter(seat.tail(stream_id), next_offset)
        fresh = replace(data_baby(seat, "late"), received_at=2**62)
        with pytest.raises(Displaced):
            await stale.write(fresh)
        return (await stale.write(fresh)).offset

    assert run(scenario()) == 3


def test_a_flush_of_yesterday_is_not_written_a_second_time(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)

    async def scenario() -> None:
        ahead = StreamWriter(seat.tail(stream_id), next_offset)
        await ahead.write(data_baby(seat, "a"))
        seat.ground.store.delete([baby_key(stream_id, 0)])
        stale = StreamWriter(seat.tail(stream_id), next_offset)
        with pytest.raises(FlushTooOld):
            await stale.write(data_baby(seat, "received at nanosecond 5"))

    run(scenario())


def test_an_answer_that_meta_lost_delays_a_commit_and_loses_nothing(seat: Seat) -> None:
    stream_id, next_offset = opened(seat)
    lossy = LossyIngestion(seat.ground.client, "collector-1")

    async def scenario() -> int:
        tail = replace(seat.tail(stream_id), ingestion=lossy)
        lossy.progress = tail.babies.progress
        return (await StreamWriter(tail, next_offset).write(data_baby(seat, "a"))).offset

    assert run(scenario()) == 0
    assert seat.ground.committed_ids() == ["a"]
    assert lossy.noted == [[], ["meta: CommitOffset: the answer was lost"]]
    assert lossy.progress.failures() == []


class LossyIngestion(Ingestion):
    """Meta behind a network that loses the first answer to a commit; notes what is reported."""

    def __init__(self, client: MetaClient, collector_id: str) -> None:
        super().__init__(client, collector_id)
        self.progress = Progress()
        self.noted: list[list[str]] = []
        self.is_lost = False

    async def commit(self, stream_id: str, offset: int, facts: CommitFacts) -> frozenset[str]:
        self.noted.append(self.progress.failures())
        deleted = await super().commit(stream_id, offset, facts)
        if not self.is_lost:
            self.is_lost = True
            raise Unavailable("the answer was lost")
        return deleted
