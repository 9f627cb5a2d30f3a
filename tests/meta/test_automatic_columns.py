"""The setting of automatic columns: ids that stay, versions, the audit log, refusals."""

import pytest

from kql.errors import KqlError
from kql.functions.dynamics import member_key
from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings

STRING, LONG = common_pb2.KQL_TYPE_STRING, common_pb2.KQL_TYPE_LONG


@pytest.fixture
def dataset(meta_client: MetaClient) -> str:
    return CatalogDriver(meta_client).dataset("web")


def change(
    client: MetaClient,
    dataset: str,
    *keys: tuple[str, common_pb2.KqlType.ValueType],
    is_on: bool = True,
) -> pb.AutomaticColumns:
    columns = [
        common_pb2.AutomaticColumn(attribute=key, type=type_, written=True) for key, type_ in keys
    ]
    setting = pb.AutomaticColumns(enabled=is_on, columns=columns)
    return set_settings(
        client, dataset, pb.DatasetSettings(automatic_columns=setting)
    ).automatic_columns


def ids_of(columns: pb.AutomaticColumns) -> dict[tuple[str, int], tuple[int, bool]]:
    return {(c.attribute, c.type): (c.field_id, c.written) for c in columns.columns}


def test_an_attribute_and_type_keeps_its_id_for_good(meta_client: MetaClient, dataset: str) -> None:
    request = pb.GetDatasetSettingsRequest(dataset_id=dataset)
    unset = meta_client.operations.GetDatasetSettings(request).settings
    assert not unset.HasField("automatic_columns")

    first = ids_of(change(meta_client, dataset, ("user.id", STRING), ("status", LONG)))
    second = ids_of(change(meta_client, dataset, ("status", STRING)))
    third = ids_of(change(meta_client, dataset, ("user.id", STRING), is_on=False))

    assert {key: written for key, (_, written) in second.items()} == {
        ("user.id", STRING): False,
        ("status", LONG): False,
        ("status", STRING): True,
    }
    numbers = [field_id for field_id, _ in second.values()]
    assert min(numbers) == 1_000_000
    assert len(set(numbers)) == 3
    assert {key: field_id for key, (field_id, _) in first.items()}.items() <= {
        key: field_id for key, (field_id, _) in third.items()
    }.items()
    assert third["user.id", STRING] == (first["user.id", STRING][0], True)


def test_each_change_is_in_the_audit_log_once(meta_client: MetaClient, dataset: str) -> None:
    for _ in range(2):
        change(meta_client, dataset, ("user.id", STRING))
    change(meta_client, dataset, ("user.id", STRING), is_on=False)

    request = pb.ListAuditRecordsRequest(limit=1_000, rpc="SetDatasetSettings")
    entries = meta_client.operations.ListAuditRecords(request).records
    own = [entry.detail for entry in entries if "is_enabled" in entry.detail]
    assert len(own) == 2


@pytest.mark.one_meta
@pytest.mark.parametrize(
    "keys",
    [[("a", common_pb2.KQL_TYPE_REAL)], [("a", STRING), ("a", LONG)], [("", STRING)]],
    ids=["another type", "an attribute twice", "no attribute"],
)
def test_what_cannot_be_a_column_is_refused(
    meta_client: MetaClient, dataset: str, keys: list[tuple[str, common_pb2.KqlType.ValueType]]
) -> None:
    with pytest.raises(InvalidArgument):
        change(meta_client, dataset, *keys)


@pytest.mark.one_meta
@pytest.mark.parametrize("key", ["o'clock", 'say "hi"', "a\\b", "tags[0]", "a*", "a?"])
def test_an_attribute_that_no_query_can_name_is_refused(
    meta_client: MetaClient, dataset: str, key: str
) -> None:
    with pytest.raises(InvalidArgument, match="cannot be named in KQL"):
        change(meta_client, dataset, (key, STRING))
    with pytest.raises(KqlError, match="is not supported"):
        member_key(key, 0)

    # A setting from before can be turned off.
    assert not change(meta_client, dataset, (key, STRING), is_on=False).enabled


def test_no_declared_column_takes_the_name_of_an_automatic_one(
    meta_client: MetaClient, dataset: str
) -> None:
    change(meta_client, dataset, ("user.id", STRING))
    column = common_pb2.PromotedColumn(
        name="$1000000",
        type=STRING,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="user.id",
    )
    setting = pb.PromotedColumns(columns=[column])

    with pytest.raises(InvalidArgument):
        set_settings(meta_client, dataset, pb.DatasetSettings(promoted_columns=setting))
