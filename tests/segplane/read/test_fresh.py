"""Fresh readings have every acknowledged record once, whatever nurseries do meanwhile."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meta.client import MetaClient
from meta.errors import VersionExpired
from meta.v1 import catalog_pb2
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.keys import baby_key
from segments.location import Stores
from segments.signals import SIGNALS
from segplane.read import OpenDataset, ReadError
from segplane.read.bounds import TimeBounds
from segplane.read.files.files import find_files
from segplane.read.pins import VersionPin
from segplane.read.rows.fresh import find_fresh
from tests.segplane.read.conftest import Open
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import (
    NOW,
    CollectorDriver,
    dataset,
    logs,
    nursery,
    run_here,
    texts,
)

GARBAGE = b"\xff\xff"


class Killed(BaseException):
    """The nursery's process ends."""


def die_after_writing(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
    """Write every file of a cycle, and register none."""
    run_here(tasks, where)
    raise Killed


@dataclass
class World:
    """Two streams that send to a dataset, a nursery, and what was acknowledged."""

    client: MetaClient
    sent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dataset_id = dataset(self.client)
        self.other_id = dataset(self.client)
        self.name = self.client.catalog.GetDataset(
            catalog_pb2.GetDatasetRequest(id=self.dataset_id)
        ).name
        self.collectors = [CollectorDriver(self.client, self.dataset_id) for _ in range(2)]
        self.count = 0

    def send(self, number: int, is_stamped: bool) -> None:
        """Send a baby of two records."""
        collector = self.collectors[number]
        bodies = [f"record {self.count + n}" for n in range(2)]
        self.count += 2
        collector.send(*bodies, is_stamped=is_stamped)
        if collector.dataset_id == self.dataset_id:
            self.sent += bodies

    def route(self, number: int) -> None:
        """Send the records of a stream to the other one of two datasets from now on."""
        collector = self.collectors[number]
        is_own = collector.dataset_id == self.dataset_id
        collector.route(self.other_id if is_own else self.dataset_id)

    def do(self, step: str) -> None:
        """Take one step of a process other than the reader."""
        kind, _, number = step.partition(" ")
        if kind in ("stamped", "unstamped"):
            self.send(int(number), kind == "stamped")
        elif kind == "damaged":
            collector = self.collectors[int(number)]
            collector.commit(collector.put(payloads=(GARBAGE,)))
        elif kind == "route":
            self.route(int(number))
        elif kind == "merge":
            nursery(self.client, batch_babies_max=int(number)).cycle()
        else:
            with suppress(Killed):
                nursery(self.client, die_after_writing).cycle()

    def read(self, between: Iterator[str]) -> tuple[list[str], list[str]]:
        """Read as `open_dataset` does, with a step of the others between any two of ours.

        Returns the records read, and those acknowledged when the babies were listed.
        """
        client = MetaClient(self.client.target)
        pin = VersionPin.take(client, self.name, None)
        try:
            self.do_next(between)
            files = find_files(client, self.name, pin.version, SIGNALS, TimeBounds())
            self.do_next(between)
            acknowledged = list(self.sent)
            fresh = find_fresh(
                client, pin.dataset_id, pin.version, 1, lambda: self.do_next(between)
            )
            opened = OpenDataset(
                self.name, pin, SIGNALS, TimeBounds(), files, (), ["body"], None, {}, fresh
            )
            rows: list[str] = []
            for batch in opened.to_reader():
                rows += map(str, batch.column("body").to_pylist())
                self.do_next(between)
            return rows, acknowledged
        finally:
            pin.close()

    def do_next(self, between: Iterator[str]) -> None:
        """Take the others' next step, if one is left."""
        if step := next(between, None):
            self.do(step)


STEPS = st.sampled_from(
    [
        *("stamped 0", "stamped 1", "unstamped 0", "unstamped 1", "damaged 0", "route 0"),
        *("merge 1", "merge 2", "merge 100", "kill"),
    ]
)


@pytest.mark.long
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(before=st.lists(STEPS, max_size=8), between=st.lists(STEPS, max_size=8))
def test_nothing_is_missing_and_nothing_twice(
    meta_client: MetaClient, store_folder: Path, before: list[str], between: list[str]
) -> None:
    world = World(meta_client)
    for step in before:
        world.do(step)
    others = iter(between)

    while True:
        try:
            rows, acknowledged = world.read(others)
        except VersionExpired:
            # An unstamped baby was merged since the pin; `open_dataset` begins again as well.
            continue
        break

    assert Counter(rows) == Counter(acknowledged)


@pytest.fixture
def store_folder(meta_server: MetaServer) -> Path:
    folder = Path("/", meta_server.settings.location.path)
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def world(meta_client: MetaClient, store_folder: Path) -> World:
    return World(meta_client)


def bodies(table: pa.Table) -> list[str]:
    return sorted(map(str, table["body"].to_pylist()))


def test_fresh_records_are_read_before_and_after_they_are_merged(
    world: World, opened: Open
) -> None:
    world.do("stamped 0")
    world.do("unstamped 1")
    assert opened(world.name).to_table().num_rows == 0
    before = opened(world.name, fresh=True)
    world.do("merge 100")
    world.do("stamped 1")

    after = opened(world.name, fresh=True)

    streams = [collector.stream_id for collector in world.collectors]
    assert bodies(before.to_table()) == sorted(world.sent[:4])
    assert before.cut == {streams[0]: 0, streams[1]: 0}
    assert bodies(after.to_table()) == sorted(world.sent)
    assert after.cut == {streams[1]: 1}
    assert isinstance(after.to_arrow(), pa.RecordBatchReader)
    assert after.polars().collect().height == 6
    assert before.to_table().schema == after.to_table().schema
    merged = opened(world.name).to_table()
    again = before.to_table()
    columns = [name for name in merged.schema.names if name != "body"]
    assert Counter(map(str, again.select(columns).to_pylist())) == Counter(
        map(str, merged.select(columns).to_pylist())
    )


def test_fresh_records_are_within_the_bounds(world: World, opened: Open) -> None:
    world.do("stamped 0")

    def count(**options: object) -> int:
        return opened(world.name, fresh=True, **options).to_table().num_rows

    assert count(start=NOW, end=NOW + 1) == 2
    assert count(start=NOW + 1) == 0
    assert count(end=NOW) == 0
    assert count(signal="logs") == 2
    assert count(signal="traces") == 0


def test_what_a_nursery_quarantines_is_skipped(world: World, opened: Open) -> None:
    collector = world.collectors[0]
    collector.commit(collector.put(payloads=(logs("sound"), GARBAGE)))
    collector.send("next")

    fresh = bodies(opened(world.name, fresh=True).to_table())
    world.do("merge 100")

    assert fresh == ["next", "sound"] == texts(collector)


def test_a_damaged_baby_gives_what_a_nursery_gives(
    world: World, opened: Open, store_folder: Path
) -> None:
    collector = world.collectors[0]
    collector.send("first")
    collector.send("second")
    path = store_folder / baby_key(collector.stream_id, 0)
    body = path.read_bytes()
    path.write_bytes(body[:20] + bytes([body[20] ^ 1]) + body[21:])

    fresh = bodies(opened(world.name, fresh=True).to_table())
    world.do("merge 100")

    assert fresh == texts(collector)
    assert "second" in fresh


def test_a_baby_that_is_gone_is_said_in_a_sentence(
    world: World, opened: Open, store_folder: Path
) -> None:
    collector = world.collectors[0]
    collector.send("first")
    fresh = opened(world.name, fresh=True)
    (store_folder / baby_key(collector.stream_id, 0)).unlink()

    with pytest.raises(ReadError, match=f"baby segment 0 of stream {collector.stream_id} cannot"):
        fresh.to_table()


def test_the_newest_records_are_fresh_ones(world: World, opened: Open) -> None:
    world.do("stamped 0")
    world.do("merge 100")
    world.do("stamped 1")

    newest = [opened(world.name, fresh=fresh).newest(10).num_rows for fresh in (False, True)]

    assert newest == [2, 4]


def test_spark_refuses_fresh_records(world: World, opened: Open) -> None:
    fresh = opened(world.name, fresh=True)

    with pytest.raises(ReadError) as refused:
        fresh.spark(None)  # type: ignore[arg-type]

    assert str(refused.value) == "Spark reads no fresh records: open the dataset without `fresh`"
