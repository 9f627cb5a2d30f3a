"""A column of a bound schema has the same values in every reader, before and after a merge."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession, functions

from dataplane.dataset_layout import read_layout
from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.location import Stores
from segplane.read import open_dataset
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta import bindings
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, nursery, run_here
from tests.support.spark import shared_session
from tests.support.visible_segments import find, key_of

Row = tuple[Any, ...]
TYPES = {
    "number": common_pb2.KQL_TYPE_LONG,
    "code": common_pb2.KQL_TYPE_INT,
    "ratio": common_pb2.KQL_TYPE_REAL,
    "flag": common_pb2.KQL_TYPE_BOOL,
    "order_id": common_pb2.KQL_TYPE_STRING,
    "paid_at": common_pb2.KQL_TYPE_DATETIME,
    "took": common_pb2.KQL_TYPE_TIMESPAN,
    "device": common_pb2.KQL_TYPE_GUID,
    "cart": common_pb2.KQL_TYPE_DYNAMIC,
}
COLUMNS = [common_pb2.Column(name=name, type=type_) for name, type_ in TYPES.items()]
PAID_MICROS = int(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()) * 10**6
READ = ("body", "number", "code", "ratio", "flag", "order_id", "took", "device", "cart")


def value(number: int) -> list[KeyValue]:
    """Attributes of which one fits every column."""
    cart = AnyValue()
    item = cart.kvlist_value.values.add(key="sku")
    item.value.string_value = f"é{number}"
    values = {
        "number": AnyValue(int_value=2**53 + number),
        "code": AnyValue(int_value=number),
        "ratio": AnyValue(double_value=number / 4),
        "flag": AnyValue(bool_value=number % 2 == 0),
        "order_id": AnyValue(string_value=f"o-{number}"),
        "paid_at": AnyValue(string_value="2026-01-02T03:04:05.000000006Z"),
        "took": AnyValue(int_value=number * 10**9),
        "device": AnyValue(string_value=f"{{6BA7B810-9DAD-11D1-80B4-00C04FD4{number:04X}}}"),
        "cart": cart,
    }
    return [KeyValue(key=key, value=own) for key, own in values.items()]


def expected(number: int) -> Row:
    return (
        f"record {number}",
        2**53 + number,
        number,
        number / 4,
        number % 2 == 0,
        f"o-{number}",
        number * 10**9,
        f"6ba7b810-9dad-11d1-80b4-00c04fd4{number:04x}",
        f'{{"sku":"é{number}"}}',
    )


def nothing(number: int) -> Row:
    return (f"record {number}", *[None] * (len(READ) - 1))


def payload(number: int, attributes: list[KeyValue]) -> bytes:
    record = LogRecord(
        time_unix_nano=NOW + number,
        body=AnyValue(string_value=f"record {number}"),
        attributes=attributes,
    )
    logs = ResourceLogs(scope_logs=[ScopeLogs(log_records=[record])])
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
        request = catalog_pb2.CreateSchemaRequest(name="order", columns=COLUMNS)
        self.schema = self.client.catalog.CreateSchema(request).id

    def bind(self, schema_id: str | None = None) -> None:
        binding = pb.SchemaBinding(schema_id=self.schema if schema_id is None else schema_id)
        request = pb.SetDatasetSettingsRequest(
            dataset_id=self.dataset, settings=pb.DatasetSettings(binding=binding)
        )
        self.client.operations.SetDatasetSettings(request)

    def send(self, number: int, attributes: list[KeyValue] | None = None) -> None:
        own = value(number) if attributes is None else attributes
        self.collector.commit(self.collector.put(payloads=(payload(number, own),)))

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
            return _rows(opened.to_table())

    def kql(self) -> list[Row]:
        names = ", ".join(name if name != "took" else "took = took / 1tick * 100" for name in READ)
        answer = self.gateway.query(f"web | project {names}")
        assert isinstance(answer.json, list), answer.json
        rows = []
        for row in answer.json:
            cart = row["cart"]
            as_text = cart if cart is None else json.dumps(cart, ensure_ascii=False)
            row["cart"] = as_text if as_text is None else as_text.replace(" ", "")
            rows.append(tuple(row[name] for name in READ))
        return sorted(rows)

    def iceberg(self) -> list[Row]:
        table = load_catalog("segplane", type="rest", uri=self.gateway.uri).load_table(
            "default.web"
        )
        return _rows(table.scan().to_arrow())

    def spark(self, session: SparkSession) -> list[Row]:
        source = session.read.format("segplane").option("metaAddress", self.address).load("web")
        rows = _rows(source.select(*READ).toArrow())
        # Spark's own reader of the files, where it can give them whole.
        with open_dataset("web", meta_address=self.address) as opened:
            assert _rows(opened.spark(session).select(*READ).toArrow()) == rows
        # Of the ninth type; Spark's times have no nanoseconds.
        paid = source.select("body", functions.unix_micros("paid_at")).collect()
        times = {row[0]: None if row[1] is None else PAID_MICROS for row in rows}
        assert dict(paid) == times
        return rows

    def bare(self) -> list[Row]:
        files = [str(self.root / key_of(segment)) for segment in find(self.client)]
        query = f"SELECT {', '.join(READ)} FROM read_parquet(?, union_by_name=true)"  # noqa: S608
        return sorted(duckdb.connect().execute(query, [files]).fetchall())


@pytest.fixture
def world(meta_server: MetaServer, gateway: GatewayServer, tmp_path: Path) -> World:
    root = Path("/", meta_server.settings.location.path)
    return World(meta_server.client, meta_server.address, gateway, tmp_path / "merges", root)


READERS: list[Callable[[World], list[Row]]] = [World.arrow, World.kql, World.iceberg, World.bare]


def _rows(table: pa.Table) -> list[Row]:
    return sorted(tuple(row[name] for name in READ) for row in table.to_pylist())


def test_older_records_have_nulls_for_good_and_later_ones_their_values(world: World) -> None:
    assert_each_reads_the_same_after_a_merge(world, READERS)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_reads_the_same_before_and_after_a_merge(world: World) -> None:
    session = shared_session()

    assert_each_reads_the_same_after_a_merge(world, [partial(World.spark, session=session)])


def assert_each_reads_the_same_after_a_merge(
    world: World, readers: Sequence[Callable[[World], list[Row]]]
) -> None:
    world.send(0)
    world.nursery()
    world.bind()
    world.send(1)
    world.send(2, [])
    assert world.arrow(fresh=True) == [nothing(0), expected(1), nothing(2)]
    world.nursery()
    rows = [nothing(0), expected(1), nothing(2)]
    for read in readers:
        assert read(world) == rows, read
    for number in range(3, 11):
        world.send(number)
        world.nursery()
    rows = sorted([*rows, *map(expected, range(3, 11))])
    world.merge()
    assert len(find(world.client)) == 1
    for read in readers:
        assert read(world) == rows, read


def test_a_reader_of_an_old_version_has_the_columns_of_its_time(world: World) -> None:
    world.bind()
    world.send(0)
    world.nursery()
    with open_dataset("web", meta_address=world.address) as opened:
        version = opened.version
    world.bind("")
    with open_dataset("web", meta_address=world.address) as opened:
        assert "order_id" not in opened.schema.names
    assert world.arrow(as_of=version) == [expected(0)]
    # Bound again, the columns are those of before, where segments have them.
    world.bind()
    assert world.arrow() == [expected(0)]


def test_a_nursery_writes_again_what_it_wrote_before_a_binding(world: World) -> None:
    world.send(0)

    def bind_after_writing(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        outcomes = run_here(tasks, where)
        world.bind()
        return outcomes

    nursery(world.client, bind_after_writing).cycle()
    assert find(world.client) == []
    world.nursery()
    assert world.arrow() == [expected(0)]


def test_a_renamed_column_has_its_values_in_every_reader(world: World) -> None:
    assert_a_new_name_reads_the_same(world, READERS[:3])


@pytest.mark.slow
@pytest.mark.spark
def test_spark_reads_a_renamed_column(world: World) -> None:
    session = shared_session()

    assert_a_new_name_reads_the_same(world, [partial(World.spark, session=session)])


def assert_a_new_name_reads_the_same(
    world: World, readers: Sequence[Callable[[World], list[Row]]]
) -> None:
    """Of files by the former name, of both, and after a merge; an older version has the former."""
    new_names = {f"former_{name}": name for name in TYPES}
    columns = (common_pb2.Column(name=f"former_{n}", type=type_) for n, type_ in TYPES.items())
    schema = bindings.create(world.client, "former", *columns)
    attributes = [
        pb.BoundAttribute(column=name, scope=bindings.RECORD, attribute=new_name)
        for name, new_name in new_names.items()
    ]
    bindings.bind(world.client, world.dataset, schema, None, *attributes)
    world.send(0)
    world.nursery()
    with open_dataset("web", meta_address=world.address) as opened:
        version, before = opened.version, opened.to_table()
    bindings.update(world.client, schema, renamed=new_names)
    for number in range(12):
        if number:
            world.send(number)
            world.nursery()
        for read in readers if number < 2 else ():
            assert read(world) == [*map(expected, range(number + 1))], read
    world.merge()
    for read in (*readers, World.bare):
        assert read(world) == sorted(map(expected, range(12))), read
    with open_dataset("web", meta_address=world.address, as_of=version) as opened:
        assert opened.to_table() == before
        assert new_names.keys() <= set(before.schema.names)
