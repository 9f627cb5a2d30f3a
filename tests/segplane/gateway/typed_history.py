"""A dataset with typed columns under any history, as a state machine.

Its rules are sends, schema changes, merges, deaths of nurseries, and readers at versions.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from pyarrow.parquet import read_table
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from dataplane.dataset_layout import read_layout
from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.location import Stores
from segplane.read import open_dataset
from tests.segplane.gateway.typed_records import TYPES, payload, value
from tests.support.gateway.server import GatewayServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta import bindings
from tests.support.meta.dataset_life import get_settings
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import (
    CollectorDriver,
    nursery,
    run_here,
    write_and_fail,
)
from tests.support.visible_segments import find, key_of

Row: TypeAlias = tuple[Any, ...]
# Small segments that are worth a merge, and more.
ENOUGH = 10
_NUMBERS = count()


class TypedHistory(RuleBasedStateMachine):
    """The model: the columns of each row when it became one, and what each version showed."""

    def __init__(
        self,
        meta: MetaServer,
        gateway: GatewayServer,
        folder: Path,
        spark: SparkSession | None = None,
    ) -> None:
        """With a session of Spark the reader in the end is Spark, else five others."""
        super().__init__()
        self.spark = spark
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
        self.removed: list[str] = []
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

    @precondition(lambda self: self.removed)
    @rule(pick=st.integers(0, 4))
    def bring_back(self, pick: int) -> None:
        """The column shows the values that no merge has skipped meanwhile."""
        name = self.removed.pop(pick % len(self.removed))
        bindings.update(self.client, self.schema, [self._column(name)])
        self.columns.append(name)

    @precondition(lambda self: (self.unused or self.removed) and self.pending)
    @rule()
    def overtake(self) -> None:
        """A column is added while a nursery writes: its files lack it, and are refused."""

        def write_then_add(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
            outcomes = run_here(tasks, where)
            if self.removed:
                self.bring_back(0)
            else:
                self.add()
            return outcomes

        nursery(self.client, write_then_add).cycle()

    @precondition(lambda self: len(self.columns) > 1)
    @rule(pick=st.integers(0, 4))
    def remove(self, pick: int) -> None:
        name = self.columns.pop(pick % len(self.columns))
        bindings.update(self.client, self.schema, (), [name])
        self.removed.append(name)

    @rule()
    def merge(self) -> None:
        self.merge_what_meta_plans()

    def merge_what_meta_plans(self) -> int:
        self.merges += 1
        columns = get_settings(self.client, self.dataset).promoted_columns.columns
        folder, before = self.folder / str(self.merges), set(self.files())
        done = merge_all(self.client, self.collector.store, folder, read_layout((), columns))
        # The outputs have the columns of now, and nothing of those that were removed.
        kept = frozenset(self.columns)
        for number in self.numbers_in(set(self.files()) - before):
            self.rows[number] &= kept
        return done

    def files(self) -> list[str]:
        own = [s for s in find(self.client) if s.dataset_id == self.dataset]
        return [str(self.root / key_of(segment)) for segment in own]

    def numbers_in(self, files: Collection[str]) -> list[int]:
        """Return the records in some files."""
        bodies = [
            body
            for file in files
            for body in read_table(file, columns=["body"])["body"].to_pylist()
        ]
        return [int(str(body).removeprefix("record ")) for body in bodies]

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
        if self.unused or self.removed:
            self.overtake()
            self.rows_have_the_columns_that_they_became_rows_with()
        self.read_fresh()
        self.die()
        for number in range(ENOUGH):
            self.send(1)
            self.cycle()
            if number == ENOUGH // 3 and len(self.columns) > 1:
                self.remove(0)
            if number == ENOUGH // 2 and self.removed:
                self.bring_back(-1)
        self.assert_all_read_the_model()
        if len(self.columns) > 1:
            self.remove(0)
        assert self.merge_what_meta_plans() >= 1
        self.assert_all_read_the_model()
        if self.removed:
            # Of merged rows its values are gone.
            self.bring_back(-1)
            self.send(1)
            self.cycle()
            self.assert_all_read_the_model()
        for number in range(len(self.history)):
            self.read_again(number)

    def assert_all_read_the_model(self) -> None:
        rows = self.expected(self.rows)
        for read in self.readers():
            assert read() == rows, read

    def readers(self) -> list[Callable[[], list[Row]]]:
        if self.spark is not None:
            return [self.by_spark]
        return [
            lambda: self.arrow(self.columns),
            lambda: self.query("kql", f"{self.name} | project {', '.join(self.read)}"),
            lambda: self.query("sql", f"SELECT {', '.join(self.read)} FROM {self.name}"),  # noqa: S608
            self.iceberg,
            self.bare,
        ]

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
        query = f"SELECT {', '.join(self.read)} FROM read_parquet(?, union_by_name=true)"  # noqa: S608
        return _sorted(duckdb.connect().execute(query, [self.files()]).fetchall())

    def by_spark(self) -> list[Row]:
        assert self.spark is not None
        source = self.spark.read.format("segplane").option("metaAddress", self.address)
        rows = source.load(self.name).select(*self.read).toArrow().to_pylist()
        return _sorted(tuple(row[name] for name in self.read) for row in rows)


def _sorted(rows: Any) -> list[Row]:
    return sorted(rows, key=lambda row: row[0])
