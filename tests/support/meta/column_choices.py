"""A dataset whose columns meta chooses, with the counts of new segments and time that goes by."""

from contextlib import AbstractContextManager

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.process import Shutdown
from meta.store.engine.pool import Transaction
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from meta.watches.column_watch import ColumnWatch
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.meta.segments import Writer, segment_of
from tests.support.meta.server import MetaServer

LOGS = common_pb2.SIGNAL_LOGS


class Choices:
    """A dataset with counts, and the hours that go by for it."""

    def __init__(self, server: MetaServer, client: MetaClient, dataset: str) -> None:
        self._database = server.running.database
        self._client = client
        self._writer = Writer(client)
        self.dataset = dataset

    def set(self, *, is_by_use: bool = True, is_on: bool = True, **keys: int) -> pb.DatasetSettings:
        """Set the switch and the listed keys."""
        columns = [
            common_pb2.AutomaticColumn(attribute=key, type=type_, written=True)  # type: ignore[arg-type]
            for key, type_ in keys.items()
        ]
        setting = pb.AutomaticColumns(enabled=is_on, by_use=is_by_use, columns=columns)
        settings = pb.DatasetSettings(automatic_columns=setting)
        return set_settings(self._client, self.dataset, settings)

    def save(self, records: int, **strings: int) -> common_pb2.CreateSegment:
        """Register a segment whose thousands of records have texts of some attributes."""
        segment = segment_of(self.dataset, events=1_000 * records)
        counts = segment.attribute_counts.add(signal=LOGS, records=1_000 * records)
        for attribute, thousands in strings.items():
            number = 1_000 * thousands
            counts.attributes.add(attribute=attribute, records=number, strings=number)
        self._writer.save(segment)
        return segment

    def save_again(self, segment: common_pb2.CreateSegment) -> None:
        """Repeat a registration."""
        self._writer.save(segment)

    def choose(self, hours: int = 0) -> dict[str, tuple[bool, bool]]:
        """Let hours go by and choose; answers whether each column is written, and chosen."""
        self.run()
        if hours:
            self.execute("UPDATE attribute_sums SET hour = hour - %(hours)s", hours=hours)
            return self.choose()
        return self.columns

    def run(self) -> None:
        """Let the next choice be due, and run what is due."""
        self.execute(
            "UPDATE datasets SET columns_chosen_next = now() WHERE columns_chosen_next > now()"
        )
        ColumnWatch(Transactions(self._database), Shutdown()).run_round()

    @property
    def columns(self) -> dict[str, tuple[bool, bool]]:
        """Whether each column is written, and whether meta chose it."""
        columns = get_settings(self._client, self.dataset).automatic_columns.columns
        return {column.attribute: (column.written, column.chosen) for column in columns}

    def execute(self, statement: str, **values: object) -> None:
        """Change rows, as time or another server would."""
        with self._database.write() as tx:
            tx.exec_driver_sql(statement, values)

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that reads."""
        return self._database.read()

    def count(self, table: str) -> int:
        """The rows of a table."""
        with self._database.read() as tx:
            return int(tx.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())  # noqa: S608
