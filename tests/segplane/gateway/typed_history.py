"""A dataset with typed columns under any history, as a state machine.

Its rules are sends, schema changes, merges, deaths of nurseries, and readers at versions.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from itertools import count
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from pyarrow.parquet import read_table
from pyspark.sql import SparkSession

from dataplane.dataset_layout import read_layout
from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.location import Stores
from segplane.read import open_dataset
from tests.segplane.gateway.typed_readers import Row, TypedReaders
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

# Small segments that are worth a merge, and more.
ENOUGH = 10
_NUMBERS = count()


class TypedHistory(TypedReaders, RuleBasedStateMachine):
    """The model: the columns of each row when it became one, and what each version showed.

    Columns are known by their first names here; `shown` has the names of those that were renamed.
    """

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
        self.shown: dict[str, str] = {}
        self.every_name = set(TYPES)
        self.schema = bindings.create(self.client, f"of-{self.name}", self._column("amount"))
        self.sent = 0
        self.pending: list[int] = []
        self.rows: dict[int, frozenset[str]] = {}
        self.history: list[tuple[int, list[str], list[Row]]] = []
        bindings.bind(self.client, self.dataset, self.schema)

    def _column(self, name: str) -> common_pb2.Column:
        return common_pb2.Column(name=self.shown.get(name, name), type=TYPES[name])

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
        bindings.update(self.client, self.schema, (), [self.shown.get(name, name)])
        self.removed.append(name)

    @rule(pick=st.integers(0, 4), is_back=st.booleans())
    def rename(self, pick: int, is_back: bool = False) -> None:
        """A column gets a name that none had, or its first one again."""
        column = self.columns[pick % len(self.columns)]
        before = self.shown.get(column, column)
        name = column if is_back and before != column else f"{column}_{len(self.every_name)}"
        bindings.update(self.client, self.schema, renamed={before: name})
        self.shown[column] = name
        self.every_name.add(name)

    @precondition(lambda self: self.pending)
    @rule(pick=st.integers(0, 4))
    def overtake_by_name(self, pick: int) -> None:
        """A column is renamed while a nursery writes: its files are refused."""

        def write_then_rename(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
            outcomes = run_here(tasks, where)
            self.rename(pick)
            return outcomes

        nursery(self.client, write_then_rename).cycle()

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
            assert set(opened.schema.names) & self.every_name == set(columns)

    @invariant()
    def rows_have_the_columns_that_they_became_rows_with(self) -> None:
        rows = self.expected(self.rows)
        with open_dataset(self.name, meta_address=self.address) as opened:
            version = opened.version
        assert self.arrow(self.names) == rows
        if not self.history or self.history[-1][0] != version:
            self.history.append((version, self.names, rows))

    @precondition(lambda self: self.pending)
    @rule()
    def read_fresh(self) -> None:
        """Fresh records are those that the next version shows."""
        pending = dict.fromkeys(self.pending, frozenset(self.columns))
        assert self.arrow(self.names, fresh=True) == self.expected(self.rows | pending)

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
            if number == ENOUGH // 2 - 1:
                self.send(1)
                self.overtake_by_name(0)
            if number == ENOUGH // 2 and self.removed:
                self.bring_back(-1)
        self.assert_all_read_the_model()
        if len(self.columns) > 1:
            self.remove(0)
        assert self.merge_what_meta_plans() >= 1
        self.assert_all_read_the_model()
        self.rename(0, is_back=True)
        self.rename(1)
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
            lambda: self.arrow(self.names),
            lambda: self.query("kql", f"{self.name} | project {', '.join(self.read)}"),
            lambda: self.query("sql", f"SELECT {', '.join(self.read)} FROM {self.name}"),  # noqa: S608
            self.iceberg,
            # Files have the names that they were written with.
            *([] if self.shown else [self.bare]),
        ]

    @property
    def read(self) -> list[str]:
        return ["body", *self.names]

    @property
    def names(self) -> list[str]:
        return [self.shown.get(column, column) for column in self.columns]

    def expected(self, rows: dict[int, frozenset[str]]) -> list[Row]:
        """The rows of the model, in the columns of now."""
        return [
            (
                f"record {number:04}",
                *(value(c, number) if c in rows[number] else None for c in self.columns),
            )
            for number in sorted(rows)
        ]
