"""Groups as resources, datasets listed by their group, and titles."""

from typing import Any

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound
from meta.v1 import resources_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import rename
from tests.support.meta.groups import create_group, delete_group, rename_group


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
