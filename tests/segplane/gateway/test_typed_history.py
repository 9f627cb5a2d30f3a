"""Typed columns under any history: sends, schema changes, merges, deaths, readers at versions."""

import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, cast

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from pyiceberg.catalog import load_catalog

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from nursery.job import TaskOutcome
from nursery.tasks import Task
from segments.named_stores import Stores
from segplane.dataplane.dataset_layout import read_layout
from segplane.read import open_dataset
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta import bindings
from tests.support.meta.dataset_life import get_settings
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import (
    NOW,
    CollectorDriver,
    nursery,
    run_here,
    write_and_fail,
)
from tests.support.visible_segments import find, key_of

Row: TypeAlias = tuple[Any, ...]
QUICK = settings(
    max_examples=2,
    stateful_step_count=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),
)
DEEP = settings(QUICK, max_examples=25, stateful_step_count=30, derandomize=False, print_blob=True)
TYPES = {
    "amount": common_pb2.KQL_TYPE_LONG,
    "city": common_pb2.KQL_TYPE_STRING,
    "order_key": common_pb2.KQL_TYPE_STRING,
    "paid": common_pb2.KQL_TYPE_BOOL,
    "ratio": common_pb2.KQL_TYPE_REAL,
}
# Small segments that are worth a merge, and more.
ENOUGH = 10
_NUMBERS = count()


def value(column: str, number: int) -> Any:
    values = {
        "amount": 2**53 + number,
        "city": f"é{number % 3}",
        "order_key": f"o-{number}",
        "paid": number % 2 == 0,
        "ratio": number / 4,
    }
    return values[column]


def payload(numbers: Sequence[int]) -> bytes:
    """Log records with an attribute for every column that a schema can have."""
    records = [
        LogRecord(
            time_unix_nano=NOW + number,
            body=AnyValue(string_value=f"record {number:04}"),
            attributes=[
                KeyValue(key="amount", value=AnyValue(int_value=value("amount", number))),
                KeyValue(key="city", value=AnyValue(string_value=value("city", number))),
                KeyValue(key="order_key", value=AnyValue(string_value=value("order_key", number))),
                KeyValue(key="paid", value=AnyValue(bool_value=value("paid", number))),
                KeyValue(key="ratio", value=AnyValue(double_value=value("ratio", number))),
            ],
        )
        for number in numbers
    ]
    logs = ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])
    return LogsData(resource_logs=[logs]).SerializeToString()


class TypedHistory(RuleBasedStateMachine):
    """The model: the columns of each row when it became one, and what each version showed."""

    def __init__(self, meta: MetaServer, gateway: GatewayServer, folder: Path) -> None:
        super().__init__()
        self.client: MetaClient = meta.client
        self.address = meta.address
        self.gateway = gateway
        self.root = Path("/", meta.settings.location.path)
        self.name = f"typed{next(_NUMBERS)}"
        self.folder = folder / self.name
        self.merges = 0
        made = catalog_pb2.CreateDatasetRequest(name=self.name)
        self.dataset = self.client.catalog.CreateDataset(made).id
        self.collector = CollectorDriver(self.client, self.dataset)
        self.columns = ["amount"]
        self.unused = [name for name in TYPES if name != "amount"]
        self.schema = bindings.create(self.client, f"of-{self.name}", self._column("amount"))
        self.sent = 0
        self.pending: list[int] = []
        self.rows: dict[int, frozenset[str]] = {}
        self.history: list[tuple[int, list[str], list[Row]]] = []
        bindings.bind(self.client, self.dataset, self.schema)

    def _column(self, name: str) -> common_pb2.Column:
        return common_pb2.Column(name=name, type=TYPES[name])

    @rule(records=st.integers(1, 3))
    def send(self, records: int) -> None:
        numbers = range(self.sent, self.sent + records)
        self.collector.commit(self.collector.put(payloads=(payload(numbers),)))
        self.sent += records
        self.pending += numbers

    @rule()
    def cycle(self) -> None:
        nursery(self.client).cycle()
        self.rows |= dict.fromkeys(self.pending, frozenset(self.columns))
        self.pending = []

    @rule()
    def die(self) -> None:
        """A nursery dies between its files and their registration."""
        nursery(self.client, write_and_fail).cycle()

    @precondition(lambda self: self.unused)
    @rule()
    def add(self) -> None:
        name = self.unused.pop()
        bindings.update(self.client, self.schema, [self._column(name)])
        self.columns.append(name)

    @precondition(lambda self: self.unused and self.pending)
    @rule()
    def overtake(self) -> None:
        """A column is added while a nursery writes: its files lack it, and are refused."""

        def write_then_add(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
            outcomes = run_here(tasks, where)
            self.add()
            return outcomes

        nursery(self.client, write_then_add).cycle()

    @precondition(lambda self: len(self.columns) > 1)
    @rule(pick=st.integers(0, 4))
    def remove(self, pick: int) -> None:
        """The column does not come back: a merge may have left its values out."""
        name = self.columns.pop(pick % len(self.columns))
        bindings.update(self.client, self.schema, (), [name])

    @rule()
    def merge(self) -> None:
        self.merge_what_meta_plans()

    def merge_what_meta_plans(self) -> int:
        self.merges += 1
        columns = get_settings(self.client, self.dataset).promoted_columns.columns
        folder = self.folder / str(self.merges)
        return merge_all(self.client, self.collector.store, folder, read_layout((), columns))

    @precondition(lambda self: self.history)
    @rule(pick=st.integers(0, 1_000))
    def read_again(self, pick: int) -> None:
        """A version shows for good what it showed first, with the columns of its time."""
        version, columns, rows = self.history[pick % len(self.history)]
        assert self.arrow(columns, as_of=version) == rows
        with open_dataset(self.name, meta_address=self.address, as_of=version) as opened:
            assert set(opened.schema.names) & TYPES.keys() == set(columns)

    @invariant()
    def rows_have_the_columns_that_they_became_rows_with(self) -> None:
        rows = self.expected(self.rows)
        with open_dataset(self.name, meta_address=self.address) as opened:
            version = opened.version
        assert self.arrow(self.columns) == rows
        if not self.history or self.history[-1][0] != version:
            self.history.append((version, list(self.columns), rows))

    @precondition(lambda self: self.pending)
    @rule()
    def read_fresh(self) -> None:
        """Fresh records are those that the next version shows."""
        pending = dict.fromkeys(self.pending, frozenset(self.columns))
        assert self.arrow(self.columns, fresh=True) == self.expected(self.rows | pending)

    def teardown(self) -> None:
        """Merge everything; all readers show the model's rows, and old versions theirs."""
        if sys.exc_info()[0] is not None:
            return
        # Lead every run through what its random steps may not have come to.
        self.send(2)
        if self.unused:
            self.overtake()
            self.rows_have_the_columns_that_they_became_rows_with()
        self.read_fresh()
        self.die()
        for _ in range(ENOUGH):
            self.send(1)
            self.cycle()
        readers: list[Callable[[], list[Row]]] = [
            lambda: self.arrow(self.columns),
            lambda: self.query("kql", f"{self.name} | project {', '.join(self.read)}"),
            lambda: self.query("sql", f"SELECT {', '.join(self.read)} FROM {self.name}"),  # noqa: S608
            self.iceberg,
            self.bare,
        ]
        rows = self.expected(self.rows)
        for read in readers:
            assert read() == rows
        assert self.merge_what_meta_plans() >= 1
        for read in readers:
            assert read() == rows
        for number in range(len(self.history)):
            self.read_again(number)

    @property
    def read(self) -> list[str]:
        return ["body", *self.columns]

    def expected(self, rows: dict[int, frozenset[str]]) -> list[Row]:
        """The rows of the model, in the columns of now."""
        return [
            (
                f"record {number:04}",
                *(value(c, number) if c in rows[number] else None for c in self.columns),
            )
            for number in sorted(rows)
        ]

    def arrow(self, columns: Sequence[str], **options: Any) -> list[Row]:
        names = ["body", *columns]
        with open_dataset(self.name, meta_address=self.address, columns=names, **options) as opened:
            return _sorted(tuple(row[n] for n in names) for row in opened.to_table().to_pylist())

    def query(self, language: str, text: str) -> list[Row]:
        answer = self.gateway.query(text, language=language)
        assert isinstance(answer.json, list), answer.json
        return _sorted(tuple(row[name] for name in self.read) for row in answer.json)

    def iceberg(self) -> list[Row]:
        catalog = load_catalog("segplane", type="rest", uri=self.gateway.uri)
        rows = catalog.load_table(f"default.{self.name}").scan().to_arrow().to_pylist()
        return _sorted(tuple(row[name] for name in self.read) for row in rows)

    def bare(self) -> list[Row]:
        own = [s for s in find(self.client) if s.dataset_id == self.dataset]
        files = [str(self.root / key_of(segment)) for segment in own]
        query = f"SELECT {', '.join(self.read)} FROM read_parquet(?, union_by_name=true)"  # noqa: S608
        return _sorted(duckdb.connect().execute(query, [files]).fetchall())


def _sorted(rows: Any) -> list[Row]:
    return sorted(rows, key=lambda row: row[0])


def _run(meta: MetaServer, gateway: GatewayServer, folder: Path, how: settings) -> None:
    # Hypothesis wants something to call for each run.
    machine = cast(type[RuleBasedStateMachine], lambda: TypedHistory(meta, gateway, folder))
    run_state_machine_as_test(machine, settings=how)


def test_typed_columns_have_the_values_of_the_model_in_five_readers(
    meta_server: MetaServer, gateway: GatewayServer, tmp_path: Path
) -> None:
    _run(meta_server, gateway, tmp_path, QUICK)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_typed_columns_have_the_values_of_the_model_for_long(
    meta_server: MetaServer, gateway: GatewayServer, tmp_path: Path
) -> None:
    _run(meta_server, gateway, tmp_path, DEEP)
