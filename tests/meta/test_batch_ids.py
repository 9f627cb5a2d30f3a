"""`batch_ids`: the column batch_id of a dataset, beside the columns of record_ids."""

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import InvalidArgument, UpgradeUnfinished
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.bindings import (
    STRING,
    columns_at,
    current_version,
    names,
    promote,
    promoted,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.meta.server import MetaServer

REQUEST = common_pb2.ATTRIBUTE_SCOPE_REQUEST


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("orders")


def set_batches(client: MetaClient, dataset: str, *, on: bool = True) -> pb.DatasetSettings:
    return set_settings(client, dataset, pb.DatasetSettings(batch_ids=on))


def test_the_batch_id_is_a_column_from_one_version_on(
    meta_client: MetaClient, dataset: str
) -> None:
    before = current_version(meta_client)

    settings = set_batches(meta_client, dataset)

    assert settings.batch_ids
    assert not settings.HasField("record_ids")
    (column,) = settings.promoted_columns.columns
    assert (column.name, column.type, column.scope, column.bound) == (
        "batch_id",
        STRING,
        REQUEST,
        True,
    )
    version = current_version(meta_client)
    assert columns_at(meta_client, dataset, before) == []
    assert columns_at(meta_client, dataset, version) == ["batch_id"]
    assert set_batches(meta_client, dataset) == settings
    assert current_version(meta_client) == version
    assert not set_batches(meta_client, dataset, on=False).HasField("batch_ids")
    assert names(get_settings(meta_client, dataset)) == []
    assert set_batches(meta_client, dataset) == settings


def test_it_comes_and_goes_apart_from_the_columns_of_record_ids(
    meta_client: MetaClient, dataset: str
) -> None:
    promote(meta_client, dataset, promoted("mine"))
    set_batches(meta_client, dataset)
    both = set_settings(meta_client, dataset, pb.DatasetSettings(record_ids=True))
    assert names(both) == ["id", "ingested_at", "batch_id", "mine"]
    # A reader of the list may write it back.
    read = both.promoted_columns.columns
    assert promote(meta_client, dataset, *read) == names(both)

    alone = set_settings(meta_client, dataset, pb.DatasetSettings(record_ids=False))

    assert names(alone) == ["batch_id", "mine"]
    assert (alone.record_ids, alone.batch_ids) == (False, True)


def test_its_name_is_that_of_no_other_column(meta_client: MetaClient, dataset: str) -> None:
    promote(meta_client, dataset, promoted("Batch_Id"))
    with pytest.raises(InvalidArgument, match="batch_id is the name of a promoted column too"):
        set_batches(meta_client, dataset)
    promote(meta_client, dataset)
    with pytest.raises(InvalidArgument, match="batch_id was a column of type long"):
        set_batches(meta_client, dataset)
    column = common_pb2.PromotedColumn(
        name="batch_id", type=STRING, scope=REQUEST, attribute="batch_id"
    )
    with pytest.raises(InvalidArgument, match="batch_id is a column of datasets with batch_ids"):
        promote(meta_client, dataset, column)


def test_it_is_refused_until_the_upgrade_is_finished(
    meta_server: MetaServer, meta_client: MetaClient, dataset: str
) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE meta_state SET least_release = '0.3.0'"))

    with pytest.raises(UpgradeUnfinished, match="a column batch_id"):
        set_batches(meta_client, dataset)

    assert names(get_settings(meta_client, dataset)) == []
