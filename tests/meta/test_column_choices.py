"""Automatic columns that meta chooses by the counts that come with new segments."""

import pytest

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.errors import InvalidArgument
from meta.process import Shutdown
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from meta.watches.column_watch import ColumnWatch
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, get_settings, set_settings
from tests.support.meta.segments import Writer, segment_of
from tests.support.meta.server import MetaServer

STRING, LONG = common_pb2.KQL_TYPE_STRING, common_pb2.KQL_TYPE_LONG
LOGS = common_pb2.SIGNAL_LOGS
# More than a day, and more than a week, in hours.
A_DAY, A_WEEK = 36, 8 * 24
Keys = dict[str, common_pb2.KqlType.ValueType]


@pytest.fixture
def dataset(meta_client: MetaClient) -> str:
    return CatalogDriver(meta_client).dataset("web")


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
        """Register a segment whose records have texts of some attributes."""
        segment = segment_of(self.dataset, events=records)
        counts = segment.attribute_counts.add(signal=LOGS, records=records)
        for attribute, number in strings.items():
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
            self.execute(f"UPDATE attribute_sums SET hour = hour - {hours}")  # noqa: S608
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

    def execute(self, statement: str) -> None:
        """Change rows, as time or another server would."""
        with self._database.write() as tx:
            tx.exec_driver_sql(statement)

    def count(self, table: str) -> int:
        """The rows of a table."""
        with self._database.read() as tx:
            return int(tx.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())  # noqa: S608


@pytest.fixture
def choices(meta_server: MetaServer, meta_client: MetaClient, dataset: str) -> Choices:
    return Choices(meta_server, meta_client, dataset)


def test_what_many_records_had_for_a_day_becomes_a_column_and_leaves_after_a_week(
    choices: Choices, meta_client: MetaClient
) -> None:
    choices.set()
    choices.save(100, user=90, rare=3)

    assert choices.choose() == {}
    # The counts of now and those of a day ago.
    choices.choose(A_DAY)
    choices.save(100, user=90, rare=3)
    assert choices.choose() == {"user": (True, True)}

    choices.choose(A_WEEK)
    choices.save(100, rare=3)
    assert choices.choose() == {"user": (False, True)}

    request = pb.ListAuditRecordsRequest(limit=10, rpc="ChooseAutomaticColumns")
    last, first = meta_client.operations.ListAuditRecords(request).records
    assert (first.principal, first.subject_id) == ("meta", choices.dataset)
    assert first.detail == '{"before": [], "after": ["user:string"]}'
    assert last.detail == '{"before": ["user:string"], "after": []}'


def test_a_segment_is_counted_once(choices: Choices) -> None:
    choices.set()
    segment = choices.save(100, user=5)
    for _ in range(3):
        choices.save_again(segment)
    assert choices.count("attribute_counts") == 1

    # A tenth of 150 records; with repetitions it would be of more.
    choices.choose(A_DAY)
    choices.save_again(segment)
    choices.save(50, user=5)

    assert choices.choose() == {"user": (True, True)}


def test_nothing_is_kept_of_datasets_whose_columns_people_choose(choices: Choices) -> None:
    choices.set(is_by_use=False, user=STRING)
    choices.save(100, other=90)
    assert choices.count("attribute_counts") == 0

    choices.set()
    choices.save(100, other=90)
    choices.choose(A_DAY)
    choices.save(100, other=90)
    assert choices.choose()["other"] == (True, True)
    choices.save(100, other=90)

    settings = choices.set(is_by_use=False, user=STRING)

    assert not settings.automatic_columns.by_use
    assert choices.columns == {"user": (True, False), "other": (False, True)}
    assert (choices.count("attribute_counts"), choices.count("attribute_sums")) == (0, 0)
    choices.set(user=STRING)
    assert choices.columns["other"] == (False, True)


def test_listed_keys_stand_beside_chosen_ones_and_win(choices: Choices) -> None:
    choices.set(user=LONG)
    choices.save(10, user=10, route=10)
    choices.choose(A_DAY)
    choices.save(10, user=10, route=10)
    assert choices.choose() == {"user": (True, False), "route": (True, True)}

    choices.set(route=STRING)
    assert choices.columns == {"user": (False, False), "route": (True, False)}
    # Nobody lists it any more, and its values are texts.
    assert choices.choose() == {"user": (True, True), "route": (True, False)}


def test_a_choice_leaves_the_version_of_the_settings(
    choices: Choices, meta_client: MetaClient
) -> None:
    choices.set(listed=STRING)
    request = pb.GetDatasetSettingsRequest(dataset_id=choices.dataset)
    before = meta_client.operations.GetDatasetSettings(request).version
    choices.save(10, user=10)
    choices.choose(A_DAY)
    choices.save(10, user=10)
    choices.choose()

    reply = meta_client.operations.GetDatasetSettings(request)

    assert choices.columns["user"] == (True, True)
    assert reply.version == before
    # What a client has read, it may write again: the chosen columns stay what they are.
    again = pb.DatasetSettings(automatic_columns=reply.settings.automatic_columns)
    set_settings(meta_client, choices.dataset, again)
    assert choices.columns == {"user": (True, True), "listed": (True, False)}


def test_a_deleted_dataset_leaves_no_counts(choices: Choices, meta_client: MetaClient) -> None:
    choices.set()
    choices.save(10, user=10)
    choices.choose()
    delete(meta_client, choices.dataset)
    choices.execute("UPDATE datasets SET purged_at = now() WHERE deleted_at IS NOT NULL")

    choices.run()

    assert choices.count("attribute_sums") == 0
    assert choices.count("datasets WHERE columns_chosen_next IS NOT NULL") == 0


def test_more_counts_than_one_transaction_takes_are_all_added(choices: Choices) -> None:
    choices.set()
    choices.execute(
        "INSERT INTO attribute_counts"
        " SELECT gen_random_uuid(), id, floor(extract(epoch FROM now()) / 3600),"
        ' \'{"1": [1, {"a": [1, 1, 0]}]}\' FROM datasets, generate_series(1, 2001)'
        " WHERE columns_chosen_next IS NOT NULL"
    )

    choices.run()

    assert choices.count("attribute_counts") == 0
    sums = 'attribute_sums WHERE counts = \'{"1": [2001, {"a": [2001, 2001, 0]}]}\''
    assert choices.count(sums) == 1
    # Two weeks later they are forgotten.
    choices.choose(14 * 24 + 6)
    assert choices.count("attribute_sums") == 0


def test_by_use_without_the_switch_is_refused(choices: Choices) -> None:
    with pytest.raises(InvalidArgument, match="by_use needs enabled"):
        choices.set(is_on=False)


def test_a_name_that_no_column_can_have_is_passed_over(choices: Choices) -> None:
    choices.set()
    choices.save(10, **{"a" * 256: 10, "": 10, "line\nbreak": 10, "fine": 10})

    assert (
        choices.count("attribute_counts WHERE counts #> '{1,1}' = '{\"fine\": [10, 10, 0]}'") == 1
    )
