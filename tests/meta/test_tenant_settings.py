"""A tenant sets its datasets' settings, and sees how fresh they are."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, RoleRefused
from meta.roles import Role
from meta.v1 import catalog_pb2 as cat
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as res
from meta.v1 import status_pb2
from segments.location import parse_named_stores
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.tenants import (
    TwoTenants,
    guarded_for_tenants,
    new_token,
    two_tenants,
)


@pytest.fixture
def scene(meta_settings: Settings) -> Iterator[TwoTenants]:
    with guarded_for_tenants(meta_settings) as guard, two_tenants(guard) as tenants:
        yield tenants


def schema(client: MetaClient, name: str) -> str:
    request = cat.CreateSchemaRequest(name=name)
    request.columns.add(name="code", type=1)
    return client.catalog.CreateSchema(request).id


def set_settings(client: MetaClient, dataset: str, **settings: object) -> ops.DatasetSettings:
    made = ops.DatasetSettings(**settings)  # type: ignore[arg-type]
    request = ops.SetDatasetSettingsRequest(dataset_id=dataset, settings=made)
    return client.operations.SetDatasetSettings(request).settings


def test_an_administrator_sets_the_settings_of_its_tenants_datasets_alone(
    scene: TwoTenants,
) -> None:
    mine, his = (CatalogDriver(c).dataset("web") for c in (scene.payments, scene.search))
    own_schema, foreign_schema = schema(scene.payments, "s"), schema(scene.search, "s")

    binding = ops.SchemaBinding(schema_id=own_schema)
    changed = set_settings(scene.payments, mine, records_per_month=7, binding=binding)
    refusals = []
    for schema_id in (foreign_schema, str(uuid4())):
        with pytest.raises(NotFound) as refused:
            set_settings(scene.payments, mine, binding=ops.SchemaBinding(schema_id=schema_id))
        refusals.append(refused.value.message)
    for dataset in (his, str(uuid4())):
        with pytest.raises(NotFound) as refused:
            set_settings(scene.payments, dataset, records_per_month=7)
        refusals.append(refused.value.message)
    reader_token = new_token(scene.payments, Role.TENANT_READER).plaintext_token
    reader = MetaClient(scene.guard.address, auth_token=reader_token)
    with reader, pytest.raises(RoleRefused):
        set_settings(reader, mine, records_per_month=8)

    assert (changed.records_per_month, changed.binding.schema_id) == (7, own_schema)
    assert refusals[0] == refusals[1]
    assert refusals[2] == refusals[3]
    request = ops.GetDatasetSettingsRequest(dataset_id=his)
    settings = scene.search.operations.GetDatasetSettings(request).settings
    assert settings.records_per_month == 0


def test_a_reader_sees_which_of_its_datasets_wait_and_no_stream(scene: TwoTenants) -> None:
    collector = IngestionDriver(scene.guard.admin, "collector")
    tokens = {}
    for name, client in (("mine", scene.payments), ("his", scene.search)):
        tokens[name] = CatalogDriver(client).token(CatalogDriver(client).dataset(name))
    datasets = {
        name: client.catalog.GetDataset(cat.GetDatasetRequest(name=name)).id
        for name, client in (("mine", scene.payments), ("his", scene.search))
    }
    stream = collector.register(tokens["mine"]).stream_id
    collector.register(tokens["his"])
    # One baby segment with records of both.
    collector.commit(stream, 0, *datasets.values())
    reader_token = new_token(scene.payments, Role.TENANT_READER).plaintext_token

    with MetaClient(scene.guard.address, auth_token=reader_token) as reader:
        fresh = reader.status.ListFreshness(status_pb2.ListFreshnessRequest(include_fresh=True))
        for identifier in ("his", "nobody"):
            with pytest.raises(NotFound):
                reader.status.ListFreshness(status_pb2.ListFreshnessRequest(name=identifier))

    (row,) = fresh.datasets
    assert (row.dataset_name, row.babies) == ("mine", 1)
    assert (row.stream_id, row.collector_id, row.size_bytes) == ("", "", 0)
    assert (fresh.waiting_datasets, fresh.live_datasets) == (1, 1)
    everything = scene.guard.admin.status.ListFreshness(status_pb2.ListFreshnessRequest())
    assert {each.dataset_name for each in everything.datasets} == {
        "//payments/mine",
        "//search/his",
    }


def test_an_administrator_allows_names_in_metrics_for_its_tenant_alone(scene: TwoTenants) -> None:
    def names_allowed(client: MetaClient, allowed: bool) -> bool:
        request = res.SetMetricNamesRequest(allowed=allowed)
        return client.resources.SetMetricNames(request).allowed

    for _ in range(2):
        assert names_allowed(scene.payments, True)
    with scene.guard.running.database.read() as tx:
        names = "SELECT name FROM metric_names n JOIN tenants t ON t.key = n.tenant_key"
        allowed = list(tx.exec_driver_sql(names).scalars())
    records = scene.payments.operations.ListAuditRecords(ops.ListAuditRecordsRequest()).records
    with pytest.raises(InvalidArgument, match="META_DATASET_METRICS"):
        names_allowed(scene.guard.admin, True)
    reader_token = new_token(scene.payments, Role.TENANT_READER).plaintext_token
    reader = MetaClient(scene.guard.address, auth_token=reader_token)
    with reader, pytest.raises(RoleRefused):
        names_allowed(reader, False)

    assert allowed == ["payments"]
    assert [record.rpc for record in records].count("SetMetricNames") == 1
    assert not names_allowed(scene.payments, False)


def test_new_datasets_of_a_tenant_go_to_its_store(meta_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "cold").mkdir()
    stores = parse_named_stores(f"cold={(tmp_path / 'cold').as_uri()}")
    settings = replace(meta_settings, named_stores=stores)
    with guarded_for_tenants(settings) as guard, two_tenants(guard) as scene:

        def store_of(client: MetaClient, name: str) -> str:
            request = ops.GetDatasetSettingsRequest(dataset_id=CatalogDriver(client).dataset(name))
            return client.operations.GetDatasetSettings(request).settings.store

        def place(client: MetaClient, store: str) -> res.Tenant:
            request = res.SetTenantStoreRequest(name="payments", store=store)
            return client.resources.SetTenantStore(request).tenant

        assert store_of(scene.payments, "before") == ""
        for _ in range(2):
            assert place(guard.admin, "cold").store == "cold"
        assert store_of(scene.payments, "behind") == "cold"
        assert store_of(scene.payments, "before") == ""
        assert store_of(scene.search, "behind") == ""
        assert store_of(guard.admin, "behind") == ""
        with pytest.raises(NotFound):
            place(guard.admin, "missing")
        with pytest.raises(RoleRefused):
            place(scene.payments, "")
        place(guard.admin, "")
        assert store_of(scene.payments, "again") == ""
        records = guard.admin.operations.ListAuditRecords(ops.ListAuditRecordsRequest()).records
        assert [record.rpc for record in records].count("SetTenantStore") == 2
