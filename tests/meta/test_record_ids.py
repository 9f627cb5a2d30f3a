"""`record_ids`: the columns id and ingested_at of a dataset, and what they exclude."""

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, RaceLost
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.bindings import (
    STRING,
    Column,
    bind,
    columns_at,
    create,
    current_version,
    names,
    promote,
    promoted,
    unbind,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings, set_settings

RECEIPT = common_pb2.ATTRIBUTE_SCOPE_RECEIPT


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("orders")


def set_ids(client: MetaClient, dataset: str, *, on: bool = True) -> pb.DatasetSettings:
    return set_settings(client, dataset, pb.DatasetSettings(record_ids=on))


def test_ids_are_columns_from_one_version_on(meta_client: MetaClient, dataset: str) -> None:
    before = current_version(meta_client)

    settings = set_ids(meta_client, dataset)

    assert settings.record_ids
    columns = settings.promoted_columns.columns
    assert [(c.name, c.type, c.scope, c.bound, c.field_id) for c in columns] == [
        ("id", STRING, RECEIPT, True, 1_000),
        ("ingested_at", common_pb2.KQL_TYPE_DATETIME, RECEIPT, True, 1_002),
    ]
    version = current_version(meta_client)
    assert columns_at(meta_client, dataset, before) == []
    assert columns_at(meta_client, dataset, version) == ["id", "ingested_at"]
    # A second time changes nothing.
    assert set_ids(meta_client, dataset) == settings
    assert current_version(meta_client) == version
    assert not set_ids(meta_client, dataset, on=False).HasField("record_ids")
    assert names(get_settings(meta_client, dataset)) == []
    assert set_ids(meta_client, dataset) == settings


def test_other_columns_come_and_go_beside_them(meta_client: MetaClient, dataset: str) -> None:
    schema = create(meta_client, "order", Column(name="order_id", type=STRING))
    promote(meta_client, dataset, promoted("mine"))
    set_ids(meta_client, dataset)

    assert names(bind(meta_client, dataset, schema)) == ["order_id", "id", "ingested_at", "mine"]
    read = get_settings(meta_client, dataset).promoted_columns.columns
    assert promote(meta_client, dataset, *read, promoted("other"))[-2:] == ["mine", "other"]
    assert promote(meta_client, dataset) == ["order_id", "id", "ingested_at"]
    assert names(unbind(meta_client, dataset)) == ["id", "ingested_at"]


def test_a_name_that_another_column_has_or_had_is_refused(
    meta_client: MetaClient, dataset: str
) -> None:
    schema = create(meta_client, "order", Column(name="ID", type=STRING))
    set_ids(meta_client, dataset)
    with pytest.raises(InvalidArgument, match="ID is the name of a column of record_ids too"):
        bind(meta_client, dataset, schema)
    for name in ("Id", "ingested_at", "ingested_at_nanos"):
        with pytest.raises(InvalidArgument, match=f"{name} is"):
            promote(meta_client, dataset, promoted(name))
    assert names(get_settings(meta_client, dataset)) == ["id", "ingested_at"]


def test_ids_are_refused_where_a_column_has_or_had_their_name(
    meta_client: MetaClient, dataset: str
) -> None:
    promote(meta_client, dataset, promoted("id"))
    with pytest.raises(InvalidArgument, match="id is the name of a promoted column too"):
        set_ids(meta_client, dataset)
    promote(meta_client, dataset)
    with pytest.raises(InvalidArgument, match="id was a column of type long over attribute id"):
        set_ids(meta_client, dataset)
    assert not get_settings(meta_client, dataset).record_ids


def test_columns_of_receipt_are_not_promoted_by_hand(meta_client: MetaClient, dataset: str) -> None:
    for name in ("id", "key"):
        column = common_pb2.PromotedColumn(name=name, type=STRING, scope=RECEIPT, attribute="id")
        with pytest.raises(InvalidArgument, match=r"record_ids|scope is not set"):
            promote(meta_client, dataset, column)
    attribute = pb.BoundAttribute(column="a", scope=RECEIPT, attribute="a")
    schema = create(meta_client, "order", Column(name="a", type=STRING))
    with pytest.raises(InvalidArgument, match="scope is not set"):
        bind(meta_client, dataset, schema, None, attribute)


def test_a_change_that_another_person_forestalled_is_refused(
    meta_client: MetaClient, dataset: str
) -> None:
    read = meta_client.operations.GetDatasetSettings(
        pb.GetDatasetSettingsRequest(dataset_id=dataset)
    )
    request = pb.SetDatasetSettingsRequest(
        dataset_id=dataset,
        settings=pb.DatasetSettings(record_ids=True),
        expected_version=read.version,
    )
    promote(meta_client, dataset, promoted("mine"))

    with pytest.raises(RaceLost):
        meta_client.operations.SetDatasetSettings(request)

    set_ids(meta_client, dataset)
    # It is in effect already, so that a retry of the same change is not an error.
    assert meta_client.operations.SetDatasetSettings(request).settings.record_ids
