"""Groups: datasets of several have one name each, move, and keep their former names."""

import time
from functools import partial
from uuid import uuid4

import psycopg
import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    NotFound,
)
from meta.v1 import catalog_pb2, ingest_token_pb2
from meta.v1 import operations_pb2 as pb
from tests.meta.test_dataset_names import id_of, version_of
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import rename
from tests.support.meta.groups import create_group, rename_group
from tests.support.meta.schemas import make_projection, make_view
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer


def names_of(client: MetaClient) -> list[str]:
    reply = client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest())
    return sorted(item.name for item in reply.items)


def test_a_name_is_unique_in_its_group(meta_client: MetaClient, catalog: CatalogDriver) -> None:
    create_group(meta_client, "shop")
    create_group(meta_client, "shop2")

    ids = [catalog.dataset(name) for name in ("web", "shop/web", "shop2/web")]
    again = [catalog.dataset(name) for name in ("web", "shop/web", "shop2/web")]

    assert ids == again
    assert len(set(ids)) == 3
    assert [catalog.dataset_name(i) for i in ids] == ["web", "shop/web", "shop2/web"]
    assert [id_of(meta_client, name) for name in ("web", "shop/web", "shop2/web")] == ids
    assert names_of(meta_client) == ["default", "shop/web", "shop2/web", "web"]


def test_a_dataset_of_no_group_is_refused(meta_client: MetaClient, catalog: CatalogDriver) -> None:
    web = catalog.dataset("web")

    for call in (partial(catalog.dataset, "shop/web"), partial(rename, meta_client, web, "a/b")):
        with pytest.raises(NotFound, match="no such group"):
            call()


@pytest.mark.parametrize(
    "name",
    ["", " a", "a/b", "/", ".", "..", "main", "Temp", "default", "Segplane", "x" * 256, "a\n"],
)
@pytest.mark.one_meta
def test_no_group_has_a_reserved_name(
    meta_client: MetaClient, catalog: CatalogDriver, name: str
) -> None:
    web = catalog.dataset("web")

    for call in (
        partial(create_group, meta_client, name),
        partial(catalog.dataset, f"{name}/web"),
        partial(rename, meta_client, web, f"{name}/web"),
    ):
        with pytest.raises(InvalidArgument):
            call()


@pytest.mark.parametrize("name", ["", ".", "pg_catalog", " a", "b/c", "x" * 256])
@pytest.mark.one_meta
def test_names_in_a_group_follow_the_rules_of_datasets(
    meta_client: MetaClient, catalog: CatalogDriver, name: str
) -> None:
    create_group(meta_client, "shop")

    with pytest.raises(InvalidArgument):
        catalog.dataset(f"shop/{name}")


def test_a_name_has_255_characters_at_most_with_its_group(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    create_group(meta_client, "g" * 255)
    create_group(meta_client, "g" * 100)
    own = "日" * 154

    dataset = catalog.dataset(f"{'g' * 100}/{own}")

    assert id_of(meta_client, f"{'g' * 100}/{own}") == dataset
    with pytest.raises(InvalidArgument, match="256 characters, more than 255"):
        catalog.dataset(f"{'g' * 100}/{own}x")
    with pytest.raises(InvalidArgument, match="256 characters with its group, more than 255"):
        rename_group(meta_client, "g" * 100, "h" * 101)
    assert rename_group(meta_client, "g" * 100, "h" * 100)


def test_a_dataset_moves_and_older_versions_keep_its_name(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer
) -> None:
    create_group(meta_client, "shop")
    create_group(meta_client, "bank")
    dataset = catalog.dataset("web")
    segments = writer.save_many(dataset, 2)
    steps = ["shop/web", "bank/web", "bank/api", "api", "shop/api"]
    versions = {"web": version_of(writer)}

    for name in steps:
        assert rename(meta_client, dataset, name) == name
        # Again, as after an answer that was lost.
        assert rename(meta_client, dataset, name) == name
        versions[name] = version_of(writer)

    assert writer.find_ids("shop/api") == segments
    for name, version in versions.items():
        assert writer.find_ids(name, as_of_version=version) == segments
        assert id_of(meta_client, name, version) == dataset
        others = [n for n in versions if n != name]
        for other in others:
            with pytest.raises(NotFound):
                writer.find_ids(other, as_of_version=version)
            with pytest.raises(NotFound):
                id_of(meta_client, other, version)
    for name in versions.keys() - {"shop/api"}:
        with pytest.raises(NotFound, match="now named 'shop/api'"):
            id_of(meta_client, name)


def test_a_group_is_renamed_by_one_row_and_older_versions_keep_its_name(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer, meta_server: MetaServer
) -> None:
    create_group(meta_client, "shop")
    dataset, other = catalog.dataset("shop/web"), catalog.dataset("shop/api")
    segments = writer.save_many(dataset, 1)
    first = version_of(writer)
    rows = row_versions(meta_server)

    assert rename_group(meta_client, "shop", "store") == "store"
    second = version_of(writer)
    with pytest.raises(NotFound, match="no such group"):
        rename_group(meta_client, "shop", "store")
    assert rename_group(meta_client, "store", "store") == "store"

    assert row_versions(meta_server) == rows
    assert names_of(meta_client) == ["default", "store/api", "store/web"]
    for name, version in (("shop/web", first), ("store/web", second)):
        assert writer.find_ids(name, as_of_version=version) == segments
        assert id_of(meta_client, name, version) == dataset
    for name, version in (("store/web", first), ("shop/web", second)):
        with pytest.raises(NotFound):
            writer.find_ids(name, as_of_version=version)
    with pytest.raises(NotFound, match="now named 'store/web'"):
        id_of(meta_client, "shop/web")
    # The name can be taken, by another dataset, and each version shows the one of its time.
    create_group(meta_client, "shop")
    new = catalog.dataset("shop/web")
    assert id_of(meta_client, "shop/web") == new != dataset
    assert id_of(meta_client, "shop/web", first) == dataset
    # A dataset that left the group before has the name that the group had.
    rename(meta_client, other, "api")
    assert id_of(meta_client, "shop/api", first) == id_of(meta_client, "store/api", second) == other


def row_versions(server: MetaServer) -> list[tuple[object, ...]]:
    """The rows of datasets and their intervals, with their places, which a write changes."""
    with psycopg.connect(server.settings.database.url) as connection:
        return [
            row
            for table in ("datasets", "dataset_visibility")
            for row in connection.execute(f"SELECT '{table}', ctid::text, * FROM {table}")  # noqa: S608
        ]


def test_a_time_before_a_renamed_group_finds_the_version_of_then(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer
) -> None:
    create_group(meta_client, "shop")
    dataset = catalog.dataset("shop/web")
    segments = writer.save_many(dataset, 1)
    then = now_nanos(meta_client)
    rename_group(meta_client, "shop", "store")
    between = now_nanos(meta_client)
    create_group(meta_client, "bank")
    rename(meta_client, dataset, "bank/web")
    writer.save_many(dataset, 1)

    for name, nanos in (("shop/web", then), ("store/web", between)):
        pin = pin_at(meta_client, name, nanos)
        assert pin.dataset_name == name
        assert writer.find_ids(name, as_of_version=pin.version) == segments
        listed = meta_client.operations.ListPins(pb.ListPinsRequest(dataset_name="bank/web"))
        assert name in {item.dataset_name for item in listed.pins}
    for name, nanos in (("store/web", then), ("bank/web", between), ("shop/web", between)):
        with pytest.raises(NotFound):
            pin_at(meta_client, name, nanos)


def now_nanos(client: MetaClient) -> int:
    """A time behind every change so far."""
    # Both run on this machine, and times are compared in microseconds.
    names_of(client)
    return time.time_ns()


def pin_at(client: MetaClient, name: str, nanos: int) -> pb.Pin:
    request = pb.PinVersionRequest(
        pin_id=str(uuid4()), owner="me", dataset_name=name, as_of_nanos=nanos
    )
    return client.operations.PinVersion(request).pin


def test_every_reply_has_the_name_with_its_group(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer
) -> None:
    create_group(meta_client, "shop")
    dataset = catalog.dataset("shop/web")
    catalog.token(dataset)
    writer.save_many(dataset, 1)
    view, projection = make_view(meta_client), make_projection(meta_client, text="project body")
    meta_client.catalog.LinkViewDatasetProjection(
        catalog_pb2.LinkViewDatasetProjectionRequest(
            dataset_id=dataset, view_id=view, projection_id=projection
        )
    )

    sources = meta_client.catalog.ListDatasources(catalog_pb2.ListDatasourcesRequest())
    usage = meta_client.operations.GetUsage(pb.GetUsageRequest(dataset_ids=[dataset]))
    table = meta_client.operations.GetDatasetTable(
        pb.GetDatasetTableRequest(dataset_name="shop/web")
    )
    changes = meta_client.operations.ListDatasetChanges(
        pb.ListDatasetChangesRequest(dataset_name="shop/web")
    )

    assert "shop/web" in str(sources)
    assert usage.usage[0].dataset_name == "shop/web"
    assert table.dataset_id == dataset
    assert len(changes.changes) == 1
    with pytest.raises(NotFound):
        meta_client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(name="t", dataset_name="web")
        )
