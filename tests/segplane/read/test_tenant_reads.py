"""Readers name the tenant of a dataset by an argument, an option of Spark, or the environment."""

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.v1 import catalog_pb2
from segplane.read import ReadError, open_dataset, open_view
from segplane.read.spark.options import read_options
from tests.support.tenant_recovery import TENANTS, make_tenants, running


def _bodies(address: str, tenant: str | None) -> list[str]:
    with open_dataset("shop/web", meta_address=address, tenant=tenant) as dataset:
        return [str(body) for body in dataset.to_table()["body"].to_pylist()]


@pytest.mark.long
def test_a_reader_names_the_tenant(
    meta_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(meta_settings) as clients:
        make_tenants(clients)
        address = clients.operator.target
        for name in TENANTS:
            assert _bodies(address, name) == [f"of {name}"]
            _add_view(clients.in_tenant[name])
            with open_view("bodies", meta_address=address, tenant=name) as view:
                assert view.to_table()["body"].to_pylist() == [f"of {name}"]
            options = {"dataset": "shop/web", "metaAddress": address, "tenant": name}
            with read_options(options).client() as client:
                request = catalog_pb2.GetDatasetRequest(name="shop/web")
                dataset = client.catalog.GetDataset(request).id
            assert dataset == clients.names()[f"//{name}/shop/web"]
        with pytest.raises(ReadError, match="no dataset"):
            _bodies(address, None)
        monkeypatch.setenv("SEGPLANE_TENANT", "search")
        assert _bodies(address, None) == ["of search"]
        assert _bodies(address, "payments") == ["of payments"]


def _add_view(client: MetaClient) -> None:
    """Create a view of the bodies of `shop/web`."""
    catalog = client.catalog
    dataset = catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="shop/web")).id
    text = catalog_pb2.CreateProjectionRequest(name="bodies", projection="project body")
    projection = catalog.CreateProjection(text).id
    view = catalog.CreateView(catalog_pb2.CreateViewRequest(name="bodies")).id
    catalog.LinkViewDatasetProjection(
        catalog_pb2.LinkViewDatasetProjectionRequest(
            dataset_id=dataset, view_id=view, projection_id=projection
        )
    )
