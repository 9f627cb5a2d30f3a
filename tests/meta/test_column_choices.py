"""Automatic columns that meta chooses by the counts that come with new segments."""

import pytest

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.errors import InvalidArgument
from meta.process import Shutdown
from meta.store.catalog.automatic_columns import NUMBERED_MAX
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from meta.watches.column_watch import ColumnWatch
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.column_choices import Choices
from tests.support.meta.dataset_life import delete, set_settings
from tests.support.meta.server import MetaServer

STRING, LONG = common_pb2.KQL_TYPE_STRING, common_pb2.KQL_TYPE_LONG
# More than a day, and more than a week, in hours.
A_DAY, A_WEEK = 36, 8 * 24


@pytest.fixture
def dataset(meta_client: MetaClient) -> str:
    return CatalogDriver(meta_client).dataset("web")


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
    assert first.detail == "added user:string"
    assert last.detail == "ended user:string"


def test_a_segment_is_counted_once(choices: Choices) -> None:
    choices.set()
    segment = choices.save(100, user=5)
    for _ in range(3):
        choices.save_again(segment)
    assert choices.count("attribute_counts") == 1

    choices.choose()
    choices.save_again(segment)

    assert choices.count("attribute_counts") == 0
    sums = 'attribute_sums WHERE counts = \'{"1": [100000, {"user": [5000, 5000, 0]}]}\''
    assert choices.count(sums) == 1


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
    # A client may write again the settings that it has read: chosen columns stay what they are.
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


def test_names_that_people_could_misread_are_passed_over(choices: Choices) -> None:
    choices.set()
    odd = ["a" * 129, "", "line\nbreak", "two words", " blank", "right\u202eleft", "o'clock"]
    odd += ['q"\\{,}']
    choices.save(10, **dict.fromkeys([*odd, "fine", "a" * 128], 10))

    choices.run()

    with choices.reading() as tx:
        ((counts,),) = tx.exec_driver_sql("SELECT counts FROM attribute_sums")
    assert set(counts["1"][1]) == {"fine", "a" * 128}


def test_a_dataset_that_cannot_be_chosen_for_holds_up_no_other(
    choices: Choices, meta_client: MetaClient, meta_server: MetaServer
) -> None:
    choices.set()
    choices.save(10, user=10)
    other = Choices(meta_server, meta_client, CatalogDriver(meta_client).dataset("other"))
    other.set()
    other.save(10, user=10)
    choices.execute(
        "INSERT INTO attribute_sums SELECT dataset_id, hour - mod(hour, 6), '{\"logs\": 1}'"
        " FROM attribute_counts WHERE dataset_id = %(dataset)s",
        dataset=choices.dataset,
    )

    with pytest.raises(TypeError):
        choices.run()
    ColumnWatch(Transactions(meta_server.running.database), Shutdown()).run_round()

    assert choices.count(f"attribute_counts WHERE dataset_id = '{choices.dataset}'") == 1
    assert choices.count(f"attribute_counts WHERE dataset_id = '{other.dataset}'") == 0


def test_meta_leaves_half_of_the_field_ids_to_people(choices: Choices) -> None:
    choices.set()
    choices.execute(
        "INSERT INTO automatic_columns"
        " SELECT id, 1000000 + 2 * n, 'former' || n, 1, false, true"
        " FROM datasets, generate_series(2, %(most)s) AS n WHERE columns_chosen_next IS NOT NULL",
        most=NUMBERED_MAX // 2,
    )
    choices.save(10, a=10, b=9)
    choices.choose(A_DAY)
    choices.save(10, a=10, b=9)

    columns = choices.choose()

    assert columns["a"] == (True, True)
    assert "b" not in columns
    choices.set(c=STRING)
    assert choices.columns["c"] == (True, False)


def test_the_end_of_chosen_columns_is_in_the_audit_log(
    choices: Choices, meta_client: MetaClient
) -> None:
    choices.set()
    choices.save(10, user=10)
    choices.choose(A_DAY)
    choices.save(10, user=10)
    choices.choose()

    choices.set(is_by_use=False)

    request = pb.ListAuditRecordsRequest(limit=10, rpc="SetDatasetSettings")
    details = [own.detail for own in meta_client.operations.ListAuditRecords(request).records]
    assert "ended user:string" in details


def test_meta_chooses_nothing_for_a_deleted_dataset(
    choices: Choices, meta_client: MetaClient
) -> None:
    choices.set()
    choices.save(10, user=10)
    choices.choose(A_DAY)
    choices.save(10, user=10)
    delete(meta_client, choices.dataset)

    choices.run()

    assert choices.count("automatic_columns") == 0
