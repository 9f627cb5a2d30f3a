"""Lists of the datasets of all tenants, which operators and their tools read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import CursorInvalid, RoleRefused
from meta.roles import Role
from meta.v1 import catalog_pb2 as pb
from segments.markers import mark_kept
from segments.store.open import open_store
from segplane.fsck.kept_files import find_kept, kept_ids
from segplane.read.lookup import all_datasets
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.tenants import (
    TwoTenants,
    guarded_for_tenants,
    new_token,
    operator_in,
    two_tenants,
)

ALL = pb.ListDatasetsRequest(all_tenants=True)


@pytest.fixture
def scene(meta_settings: Settings) -> Iterator[TwoTenants]:
    with guarded_for_tenants(meta_settings) as guard, two_tenants(guard) as tenants:
        for client in (guard.admin, tenants.payments, tenants.search):
            CatalogDriver(client).dataset("web")
        yield tenants


def test_an_operator_lists_the_datasets_of_all_tenants(scene: TwoTenants) -> None:
    default, *names = [d.name for d in all_datasets(scene.guard.admin, all_tenants=True)]
    with scene.guard.client(Role.OPERATOR_READ) as reader:
        request = pb.ListDatasetsRequest(all_tenants=True)
        request.pagination.limit = 3
        first = reader.catalog.ListDatasets(request)
        request.pagination.after = first.pagination.next_cursor
        second = reader.catalog.ListDatasets(request)
        request.all_tenants = False
        with pytest.raises(CursorInvalid):
            reader.catalog.ListDatasets(request)

    assert names == ["web", "//payments/web", "//search/web"]
    assert [d.name for d in (*first.items, *second.items)] == [default, *names]
    assert first.pagination.total == 4


def test_others_do_not_list_them(scene: TwoTenants) -> None:
    of_default = scene.guard.token(Role.READER).plaintext_token
    of_tenant = new_token(scene.payments, Role.TENANT_READER).plaintext_token
    address = scene.guard.address
    with (
        MetaClient(address, auth_token=of_default) as reader,
        MetaClient(address, auth_token=of_tenant) as tenant_reader,
        operator_in(scene.guard, "payments") as operator,
    ):
        for client in (reader, tenant_reader, scene.payments, operator):
            with pytest.raises(RoleRefused, match="names no tenant"):
                client.catalog.ListDatasets(ALL)


def test_fsck_sees_the_datasets_of_all_tenants(scene: TwoTenants, meta_settings: Settings) -> None:
    Path("/", meta_settings.location.path).mkdir(exist_ok=True)
    store = open_store(meta_settings.location)
    (dataset,) = scene.payments.catalog.ListDatasets(pb.ListDatasetsRequest()).items
    mark_kept(store, dataset.id, "web")

    assert [kept.is_live for kept in find_kept(scene.guard.admin, store)] == [True]
    assert kept_ids(scene.guard.admin, store) == frozenset()
