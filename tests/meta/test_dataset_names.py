"""A dataset that is renamed: its id and segments stay, and older versions keep the former name."""

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, NameTaken, NotFound
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, rename, undelete
from tests.support.meta.segments import Writer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def id_of(client: MetaClient, name: str, version: int | None = None) -> str:
    request = catalog_pb2.GetDatasetRequest(name=name, at_version=version)
    return client.catalog.GetDataset(request).id


def version_of(writer: Writer) -> int:
    return writer.find().snapshot_version


def test_versions_of_before_keep_the_former_name(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    writer.save_many(dataset, 2)
    old = version_of(writer)
    assert rename(meta_client, dataset, "shop") == "shop"
    # Again, as after an answer that was lost.
    assert rename(meta_client, dataset, "shop") == "shop"
    found = writer.find_ids("shop")
    assert len(found) == 2
    assert writer.find_ids("web", as_of_version=old) == found
    assert id_of(meta_client, "shop") == id_of(meta_client, "web", old) == dataset
    for name, version in (("web", None), ("shop", old)):
        with pytest.raises(NotFound):
            writer.find_ids(name, as_of_version=version)
        with pytest.raises(NotFound):
            id_of(meta_client, name, version)
    with pytest.raises(NotFound, match="now named 'shop'"):
        id_of(meta_client, "web")


def test_a_name_that_was_given_up_can_be_taken(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer, dataset: str
) -> None:
    first = writer.save_many(dataset, 1)
    old = version_of(writer)
    rename(meta_client, dataset, "shop")
    other = catalog.dataset("web")
    second = writer.save_many(other, 1)
    assert writer.find_ids("web", as_of_version=old) == first
    assert writer.find_ids("web") == second
    with pytest.raises(NameTaken):
        rename(meta_client, dataset, "web")
    # Both change names once more, and each version still shows the dataset of its time.
    between = version_of(writer)
    rename(meta_client, other, "api")
    rename(meta_client, dataset, "web")
    assert writer.find_ids("web", as_of_version=old) == first
    assert writer.find_ids("web", as_of_version=between) == second
    assert writer.find_ids("shop", as_of_version=between) == first
    assert writer.find_ids("web") == first


def test_a_pin_finds_its_segments_under_the_name_of_its_version(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    found = writer.save_many(dataset, 2)
    request = pb.PinVersionRequest(
        pin_id="6ba7b810-9dad-11d1-80b4-00c04fd430c8", owner="me", dataset_name="web"
    )
    pin = meta_client.operations.PinVersion(request).pin
    rename(meta_client, dataset, "shop")
    request.version = pin.version
    assert meta_client.operations.PinVersion(request).pin.dataset_name == "web"
    assert writer.find_ids("web", as_of_version=pin.version) == found


def test_a_dataset_that_is_deleted_and_restored_keeps_its_names(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    found = writer.save_many(dataset, 1)
    first = version_of(writer)
    delete(meta_client, dataset)
    undelete(meta_client, dataset)
    second = version_of(writer)
    rename(meta_client, dataset, "shop")
    for version in (first, second):
        assert writer.find_ids("web", as_of_version=version) == found


@pytest.mark.one_meta
@pytest.mark.parametrize("name", ["", " web", "x" * 256])
def test_a_name_that_no_dataset_may_have_is_refused(
    meta_client: MetaClient, dataset: str, name: str
) -> None:
    with pytest.raises(InvalidArgument):
        rename(meta_client, dataset, name)


def test_changes_say_the_name_of_today(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    since = version_of(writer)
    rename(meta_client, dataset, "shop")
    writer.save_many(dataset, 1)
    request = pb.ListDatasetChangesRequest(dataset_name="shop", since_version=since)
    assert len(meta_client.operations.ListDatasetChanges(request).changes) == 1
    request.dataset_name = "web"
    with pytest.raises(NotFound, match="now named 'shop'"):
        meta_client.operations.ListDatasetChanges(request)
