"""`id` and `ingested_at` are the same in every reader, before and after a merge, and on a retry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from pyiceberg.catalog import load_catalog

from dataplane.dataset_layout import read_layout
from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.location import Stores
from segplane.read import open_dataset
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, nursery, run_here
from tests.support.visible_segments import find, key_of

Row = tuple[str, str | None, datetime | None]
READ = ("body", "id", "ingested_at")
RECEIVED = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=NOW // 1_000)


def payload(*bodies: str, **attributes: AnyValue) -> bytes:
    """Log records with these bodies, each with the same attributes."""
    own = [KeyValue(key=key, value=value) for key, value in attributes.items()]
    records = [
        LogRecord(time_unix_nano=NOW - 10**9, body=AnyValue(string_value=body), attributes=own)
        for body in bodies
    ]
    logs = ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])
    return LogsData(resource_logs=[logs]).SerializeToString()


@dataclass
class World:
    """A dataset that is sent to, merged and read."""

    client: MetaClient
    address: str
    gateway: GatewayServer
    folder: Path
    root: Path
    dataset: str = ""
    merges: int = 0
    collector: CollectorDriver = field(init=False)

    def __post_init__(self) -> None:
        self.dataset = CatalogDriver(self.client).dataset("web")
        self.collector = CollectorDriver(self.client, self.dataset)

    def set_record_ids(self, *, on: bool = True) -> None:
        settings = pb.DatasetSettings(record_ids=on)
        request = pb.SetDatasetSettingsRequest(dataset_id=self.dataset, settings=settings)
        self.client.operations.SetDatasetSettings(request)

    def send(self, *payloads: bytes) -> None:
        self.collector.commit(self.collector.put(payloads=payloads))

    def nursery(self) -> None:
        nursery(self.client).cycle()

    def merge(self) -> None:
        request = pb.GetDatasetSettingsRequest(dataset_id=self.dataset)
        settings = self.client.operations.GetDatasetSettings(request).settings
        spec = read_layout((), settings.promoted_columns.columns)
        self.merges += 1
        folder = self.folder / str(self.merges)
        assert merge_all(self.client, self.collector.store, folder, spec) == 1

    def arrow(self, **options: Any) -> list[Row]:
        with open_dataset(
            "web", meta_address=self.address, columns=list(READ), **options
        ) as opened:
            return rows_of(opened.to_table().to_pylist())

    def kql(self) -> list[Row]:
        answer = self.gateway.query("web | project body, id, ingested_at")
        rows = answer.json
        assert isinstance(rows, list), rows
        for row in rows:
            if row["ingested_at"] is not None:
                row["ingested_at"] = datetime.fromisoformat(row["ingested_at"])
        return rows_of(rows)

    def iceberg(self) -> list[Row]:
        table = load_catalog("segplane", type="rest", uri=self.gateway.uri).load_table(
            "default.web"
        )
        return rows_of(table.scan().to_arrow().to_pylist())

    def bare(self) -> list[Row]:
        files = [str(self.root / key_of(segment)) for segment in find(self.client)]
        query = "SELECT body, id, ingested_at FROM read_parquet(?, union_by_name=true)"
        found = duckdb.connect().execute(query, [files]).fetchall()
        return rows_of([dict(zip(READ, row, strict=True)) for row in found])


def rows_of(rows: Sequence[dict[str, Any]]) -> list[Row]:
    return sorted((row["body"], row["id"], row["ingested_at"]) for row in rows)


@pytest.fixture
def world(meta_server: MetaServer, gateway: GatewayServer, tmp_path: Path) -> World:
    root = Path("/", meta_server.settings.location.path)
    return World(meta_server.client, meta_server.address, gateway, tmp_path / "merges", root)


READERS: list[Callable[[World], list[Row]]] = [World.arrow, World.kql, World.iceberg, World.bare]


@pytest.mark.long
def test_ids_and_times_of_receipt_are_the_same_in_every_reader(world: World) -> None:
    world.send(payload("a before"))
    world.nursery()
    world.set_record_ids()
    text, number = AnyValue(string_value="o-17"), AnyValue(int_value=2**53 + 1)
    world.send(payload("b", "c"), payload("d"), payload("e", id=text), payload("f", id=number))

    rows = world.arrow(fresh=True)

    assert [(body, id_) for body, id_, _ in rows if body in "ef"] == [
        ("e", "o-17"),
        ("f", str(2**53 + 1)),
    ]
    assert rows[0] == ("a before", None, None)
    assert {time for _, _, time in rows[1:]} == {RECEIVED}
    made = [id_ for body, id_, _ in rows if body in "bcd"]
    assert len(set(made)) == 3
    assert [id_[-2:] for id_ in made if id_] == ["-0", "-1", "-0"]
    world.nursery()
    for read in READERS:
        assert read(world) == rows, read
    for number_sent in range(8):
        world.send(payload(f"g{number_sent}"))
        world.nursery()
    rows = world.arrow()
    assert len({id_ for _, id_, _ in rows}) == len(rows)
    world.merge()
    assert len(find(world.client)) == 1
    for read in READERS:
        assert read(world) == rows, read


def test_an_id_is_the_same_when_a_nursery_writes_again(world: World) -> None:
    world.send(payload("a", "b"))
    world.send(payload("c"))
    world.set_record_ids()
    fresh = world.arrow(fresh=True)

    def fail_after_writing(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        run_here(tasks, where)
        raise RuntimeError("the nursery dies after it wrote")

    with pytest.raises(RuntimeError):
        nursery(world.client, fail_after_writing).cycle()
    assert find(world.client) == []
    world.nursery()

    assert world.arrow() == fresh
    assert all(id_ for _, id_, _ in fresh)


def test_a_nursery_writes_again_what_it_wrote_before_ids_were_asked_for(world: World) -> None:
    world.send(payload("a"))

    def ask_after_writing(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        outcomes = run_here(tasks, where)
        world.set_record_ids()
        return outcomes

    nursery(world.client, ask_after_writing).cycle()
    assert find(world.client) == []
    world.nursery()

    ((_, id_, time),) = world.arrow()
    assert id_ is not None
    assert time == RECEIVED


def test_columns_that_were_taken_away_come_back_with_their_values(world: World) -> None:
    world.set_record_ids()
    world.send(payload("a"))
    world.nursery()
    before = world.arrow()
    with open_dataset("web", meta_address=world.address) as opened:
        version = opened.version
    world.set_record_ids(on=False)
    with open_dataset("web", meta_address=world.address) as opened:
        assert not {"id", "ingested_at"} & set(opened.schema.names)

    assert world.arrow(as_of=version) == before
    world.set_record_ids()

    assert world.arrow() == before
