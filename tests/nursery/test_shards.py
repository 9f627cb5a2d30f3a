"""Several nurseries on shards of the streams: one moves each stream, also when shards change."""

import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from meta.client import MetaClient
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery
from nursery.planning.tasks import Task
from segments.location import Stores
from tests.support.nursery.drivers import CollectorDriver, nursery, run_here, texts
from tests.support.waiting import wait_until

STREAMS = 12
BABIES = 6


class Died(BaseException):
    """A nursery that ends where it stands."""


@dataclass
class Shard:
    """A nursery of one shard, and the babies that its jobs have read."""

    client: MetaClient
    index: int
    count: int
    dies_after_job: int = 0
    reads: Counter[tuple[str, int]] = field(default_factory=Counter)
    jobs: int = 0

    def nursery(self) -> Nursery:
        """Start it."""
        return nursery(self.client, self.run, shard=(self.index, self.count))

    def run(self, tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        """Run a job, and die before its results are registered if it is the one to die after."""
        results = run_here(tasks, where)
        self.reads.update((read.stream_id, read.offset) for task in tasks for read in task.reads)
        self.jobs += bool(tasks)
        if self.dies_after_job and self.jobs == self.dies_after_job:
            raise Died
        return results

    @property
    def streams(self) -> set[str]:
        """The streams that it has read."""
        return {stream_id for stream_id, _ in self.reads}


@dataclass
class ShardedStreams:
    """Streams that all bring records to one dataset."""

    client: MetaClient
    collectors: list[CollectorDriver]

    def send(self, number: int) -> None:
        """Commit one more baby to each stream."""
        for collector in self.collectors:
            collector.send(f"{collector.stream_id} {number}")

    def sent(self, babies: int) -> list[str]:
        """Records that readers must find."""
        return sorted(f"{c.stream_id} {n}" for c in self.collectors for n in range(babies))

    def read(self) -> list[str]:
        """Read the visible records."""
        return texts(self.collectors[0])


@pytest.fixture
def ground(collector: CollectorDriver) -> ShardedStreams:
    client = collector.client
    others = [CollectorDriver(client, collector.dataset_id) for _ in range(STREAMS - 1)]
    return ShardedStreams(client, [collector, *others])


class Running:
    """Nurseries that cycle in their own threads until they are told to end."""

    def __init__(self, *shards: Shard) -> None:
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._cycle, args=(one,)) for one in shards]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _cycle(self, shard: Shard) -> None:
        driver = shard.nursery()
        with suppress(Died):
            while not self._is_over.wait(0.01):
                driver.cycle()


def test_nurseries_at_once_move_each_stream_by_exactly_one(ground: ShardedStreams) -> None:
    shards = [Shard(ground.client, index, 3) for index in range(3)]

    with Running(*shards):
        for number in range(BABIES):
            ground.send(number)
        wait_until(lambda: len(ground.read()) == STREAMS * BABIES, "all is merged")

    assert ground.read() == ground.sent(BABIES)
    assert sum(len(shard.streams) for shard in shards) == STREAMS
    assert set().union(*(shard.streams for shard in shards)) == {
        collector.stream_id for collector in ground.collectors
    }
    # No race was lost, so nothing was read in vain.
    reads = sum((shard.reads for shard in shards), Counter[tuple[str, int]]())
    assert set(reads.values()) == {1}


def test_a_shard_whose_nursery_dies_before_it_registers_is_merged_by_the_next(
    ground: ShardedStreams,
) -> None:
    dying, living = Shard(ground.client, 0, 2, dies_after_job=2), Shard(ground.client, 1, 2)

    with Running(dying, living):
        for number in range(BABIES):
            ground.send(number)
        wait_until(lambda: dying.jobs == 2, "one has died")
        rest = [c for c in ground.collectors if c.stream_id in living.streams]
        wait_until(
            lambda: all(set(c.merged().values()) == {BABIES - 1} for c in rest),
            "the other has merged its own",
        )
        assert not dying.streams & living.streams
        assert len(ground.read()) < STREAMS * BABIES
    with Running(Shard(ground.client, 0, 2)):
        wait_until(lambda: len(ground.read()) >= STREAMS * BABIES, "all is merged")

    assert ground.read() == ground.sent(BABIES)


@pytest.mark.parametrize(
    ("before", "after"), [pytest.param(2, 3, marks=pytest.mark.slow), (3, 1)], ids=["more", "fewer"]
)
def test_a_change_of_the_number_of_shards_loses_and_doubles_nothing(
    ground: ShardedStreams, before: int, after: int
) -> None:
    old = [Shard(ground.client, index, before) for index in range(before)]
    new = [Shard(ground.client, index, after) for index in range(after)]

    # As in a rollout: for a while both splits are at work, on the same streams.
    with Running(*new):
        with Running(*old):
            for number in range(BABIES):
                ground.send(number)
        ground.send(BABIES)
        wait_until(lambda: len(ground.read()) >= STREAMS * (BABIES + 1), "all is merged")

    assert ground.read() == ground.sent(BABIES + 1)
    assert set().union(*(shard.streams for shard in new)) == {
        collector.stream_id for collector in ground.collectors
    }


def test_a_stream_is_merged_by_nobody_while_its_shard_has_no_nursery(
    ground: ShardedStreams,
) -> None:
    ground.send(0)
    taken = Shard(ground.client, 0, 2)
    taken.nursery().cycle()

    left = [c for c in ground.collectors if c.stream_id not in taken.streams]

    assert all(set(c.merged().values()) == {-1} for c in left)
    Shard(ground.client, 1, 2).nursery().cycle()
    assert ground.read() == ground.sent(1)
