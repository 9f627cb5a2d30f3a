"""Groups: datasets of several have one name each, move, and keep their former names."""

import time
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    MetaError,
    NameTaken,
    NotFound,
    QuotaExceeded,
    StillReferenced,
    UpgradeUnfinished,
)
from meta.v1 import catalog_pb2, ingest_token_pb2, resources_pb2
from meta.v1 import operations_pb2 as pb
from tests.meta.test_dataset_names import id_of, version_of
from tests.meta.test_stream_races import together
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, rename, undelete
from tests.support.meta.groups import create_group, delete_group, rename_group
from tests.support.meta.schemas import make_projection, make_view
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

ROUNDS = 12


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


def test_a_group_is_deleted_once_nothing_can_come_back_into_it(
    meta_client: MetaClient, catalog: CatalogDriver, meta_server: MetaServer
) -> None:
    assert delete_group(meta_client, "shop") is False
    group = create_group(meta_client, "shop")
    dataset = catalog.dataset("shop/web")
    with pytest.raises(StillReferenced) as live:
        delete_group(meta_client, "shop")
    delete(meta_client, dataset)
    with pytest.raises(StillReferenced) as deleted:
        delete_group(meta_client, "shop")
    undelete(meta_client, dataset)
    rename(meta_client, dataset, "web")

    assert live.value.metadata["blockers"] == "dataset web"
    assert deleted.value.metadata["blockers"] == "deleted dataset web"
    assert delete_group(meta_client, "shop") is True
    assert delete_group(meta_client, "shop") is False
    # Its name is free, for another group.
    assert create_group(meta_client, "shop") != group


def test_a_restored_dataset_finds_its_name_taken(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    create_group(meta_client, "shop")
    first = catalog.dataset("shop/web")
    delete(meta_client, first)
    second = catalog.dataset("shop/web")

    with pytest.raises(NameTaken, match="another dataset"):
        undelete(meta_client, first)
    rename(meta_client, second, "shop/api")

    assert undelete(meta_client, first).name == "shop/web"


def test_a_name_with_a_slash_of_an_earlier_release_stays_and_keeps_its_group_away(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer, meta_server: MetaServer
) -> None:
    dataset = catalog.dataset("web")
    keep_name(meta_server, dataset, "shop/old/web")
    segments = writer.save_many(dataset, 1)
    old = version_of(writer)
    create_group(meta_client, "bank")

    assert writer.find_ids("shop/old/web") == segments
    assert id_of(meta_client, "shop/old/web") == catalog.dataset("shop/old/web") == dataset
    for refused in (
        partial(create_group, meta_client, "shop"),
        partial(rename_group, meta_client, "bank", "shop"),
    ):
        with pytest.raises(NameTaken, match="'shop/old/web'"):
            refused()
    # Also while a version that can be read shows it, and while it could come back.
    rename(meta_client, dataset, "bank/web")
    assert id_of(meta_client, "shop/old/web", old) == dataset
    with pytest.raises(NameTaken, match="'shop/old/web'"):
        create_group(meta_client, "shop")
    raise_horizon(meta_server, dataset)
    assert create_group(meta_client, "shop")
    assert catalog.dataset("shop/old")


def test_a_deleted_name_with_a_slash_keeps_its_group_away(
    meta_client: MetaClient, catalog: CatalogDriver, meta_server: MetaServer
) -> None:
    dataset = catalog.dataset("web")
    keep_name(meta_server, dataset, "shop/web")
    delete(meta_client, dataset)
    raise_horizon(meta_server, dataset)

    with pytest.raises(NameTaken, match="'shop/web'"):
        create_group(meta_client, "shop")
    assert undelete(meta_client, dataset).name == "shop/web"


def keep_name(server: MetaServer, dataset: str, name: str) -> None:
    """Give a dataset a name as a release before 0.3.0 did."""
    with psycopg.connect(server.settings.database.url) as connection:
        statement = "UPDATE datasets SET name = %s WHERE id = %s"
        assert connection.execute(statement, (name, dataset)).rowcount == 1


def raise_horizon(server: MetaServer, dataset: str) -> None:
    """End the versions of before, as a deletion of segments does."""
    with psycopg.connect(server.settings.database.url) as connection:
        connection.execute(
            "UPDATE datasets SET deletion_horizon = (SELECT version FROM meta_state) WHERE id = %s",
            (dataset,),
        )


def test_one_group_more_than_the_limit_is_refused(
    meta_client: MetaClient, meta_server: MetaServer
) -> None:
    with psycopg.connect(meta_server.settings.database.url) as connection:
        connection.execute(
            "INSERT INTO groups (id, name) SELECT gen_random_uuid(), 'g' || n"
            " FROM generate_series(2, 10000) n"
        )
    create_group(meta_client, "a")

    with pytest.raises(QuotaExceeded, match="there are 10000 groups already"):
        create_group(meta_client, "c")
    assert create_group(meta_client, "a")
    delete_group(meta_client, "a")
    assert create_group(meta_client, "c")


def reference(name: str, kind: int = resources_pb2.RESOURCE_KIND_DATASET) -> Any:
    return resources_pb2.ResourceRef(kind=resources_pb2.ResourceKind.ValueType(kind), name=name)


def resource_of(client: MetaClient, name: str, **kind: int) -> resources_pb2.Resource:
    request = resources_pb2.GetResourceRequest(resource=reference(name, **kind))
    return client.resources.GetResource(request).resource


def listed(client: MetaClient, group: str, **fields: Any) -> list[str]:
    request = resources_pb2.ListResourcesRequest(
        kind=resources_pb2.RESOURCE_KIND_DATASET, group=group, **fields
    )
    return [item.name for item in client.resources.ListResources(request).items]


def test_datasets_are_listed_by_their_group(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    group = create_group(meta_client, "shop")
    create_group(meta_client, "bank")
    for name in ("shop/b", "shop/a", "web", "bank/a"):
        catalog.dataset(name)

    assert listed(meta_client, "shop") == ["a", "b"]
    assert listed(meta_client, "shop", descending=True, limit=1) == ["b"]
    assert listed(meta_client, "") == ["default", "web"]
    resource = resource_of(meta_client, "shop/a")
    assert (resource.name, resource.group, resource.group_id) == ("a", "shop", group)
    rename(meta_client, resource.id, "bank/b")
    rename_group(meta_client, "bank", "store")
    moved = resource_of(meta_client, "store/b")
    assert (moved.id, moved.group) == (resource.id, "store")
    assert moved.version != resource.version
    assert (listed(meta_client, "shop"), listed(meta_client, "store")) == (["b"], ["a", "b"])
    with pytest.raises(NotFound, match="no such group"):
        listed(meta_client, "bank")
    with pytest.raises(InvalidArgument, match="NAME only"):
        listed(meta_client, "shop", order=resources_pb2.RESOURCE_ORDER_CREATED)
    with pytest.raises(InvalidArgument, match="cannot be combined"):
        listed(meta_client, "shop", name_from="a")


def test_a_group_is_a_resource(meta_client: MetaClient) -> None:
    kind = resources_pb2.RESOURCE_KIND_GROUP
    group = create_group(meta_client, "shop")
    request = resources_pb2.UpdateResourceRequest(
        resource=reference("shop", kind), note="payments", set_labels={"team": "pay"}
    )
    meta_client.resources.UpdateResource(request)
    rename_group(meta_client, "shop", "store")

    resource = resource_of(meta_client, "store", kind=kind)
    delete_group(meta_client, "store")

    assert (resource.id, resource.note, resource.labels["team"]) == (group, "payments", "pay")
    assert (resource.created_by, resource.updated_by) == ("anonymous", "anonymous")
    with pytest.raises(NotFound):
        resource_of(meta_client, "store", kind=kind)
    gone = resources_pb2.GetResourceRequest(
        resource=resources_pb2.ResourceRef(kind=resources_pb2.RESOURCE_KIND_GROUP, id=group)
    )
    assert meta_client.resources.GetResource(gone).resource.deleted_by == "anonymous"


def test_a_dataset_has_a_title_beside_its_name(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    dataset = catalog.dataset("web")
    request = resources_pb2.UpdateResourceRequest(resource=reference("web"), title="Web shop")
    first = meta_client.resources.UpdateResource(request).resource
    again = meta_client.resources.UpdateResource(request).resource
    rename(meta_client, dataset, "shop")

    renamed = resource_of(meta_client, "shop")
    request = resources_pb2.UpdateResourceRequest(resource=reference("shop"), title="")
    cleared = meta_client.resources.UpdateResource(request).resource

    assert (first.title, renamed.title) == ("Web shop", "Web shop")
    assert first.version == again.version
    assert not cleared.HasField("title")
    for title in ("x" * 256, "a\nb"):
        request = resources_pb2.UpdateResourceRequest(resource=reference("shop"), title=title)
        with pytest.raises(InvalidArgument):
            meta_client.resources.UpdateResource(request)
    create_group(meta_client, "bank")
    group = reference("bank", resources_pb2.RESOURCE_KIND_GROUP)
    request = resources_pb2.UpdateResourceRequest(resource=group, title="x")
    with pytest.raises(InvalidArgument, match="has no title"):
        meta_client.resources.UpdateResource(request)


def test_the_first_group_waits_for_the_end_of_the_upgrade(
    meta_client: MetaClient, meta_server: MetaServer
) -> None:
    with psycopg.connect(meta_server.settings.database.url) as connection:
        connection.execute("UPDATE meta_state SET least_release = NULL")

    with pytest.raises(UpgradeUnfinished, match="segplane migrate --finish"):
        create_group(meta_client, "shop")


def test_two_creations_of_a_group_make_one(meta_client: MetaClient) -> None:
    for number in range(ROUNDS):
        create = partial(create_group, meta_client, f"g{number}")

        first, second = together(create, create)

        assert first == second


def test_a_group_is_deleted_or_has_the_dataset_that_comes_at_the_same_time(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    for number in range(ROUNDS):
        name = f"g{number}"
        create_group(meta_client, name)
        moved = catalog.dataset()

        made, joined, deleted = together(
            partial(catalog.dataset, f"{name}/web"),
            partial(rename, meta_client, moved, f"{name}/moved"),
            partial(delete_group, meta_client, name),
        )

        here = [n for n in names_of(meta_client) if n.startswith(f"{name}/")]
        if deleted is True:
            assert isinstance(made, NotFound)
            assert isinstance(joined, NotFound)
            assert here == []
        else:
            assert isinstance(deleted, StillReferenced)
            expected = {f"{name}/web": made, f"{name}/moved": joined}
            assert here == sorted(n for n, a in expected.items() if isinstance(a, str))


def test_of_two_groups_that_want_one_name_one_gets_it(meta_client: MetaClient) -> None:
    for number in range(ROUNDS):
        for name in ("a", "b"):
            create_group(meta_client, f"{name}{number}")

        answers = together(
            *(partial(rename_group, meta_client, f"{n}{number}", f"c{number}") for n in ("a", "b"))
        )

        assert sum(isinstance(answer, MetaError) for answer in answers) == 1
        assert f"c{number}" in answers
