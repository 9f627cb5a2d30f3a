"""A guarded meta with two datasets, a gateway over it, and readers that are limited to one."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from meta import metrics
from meta.config import Settings
from meta.roles import Role
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded

GATEWAY_TOKEN = "of-the-gateway"
OWN = {"Authorization": f"Bearer {GATEWAY_TOKEN}"}
TABLES = "v1/namespaces/default/tables"
VIEWS = "v1/namespaces/default/views"


@pytest.fixture
def guard(meta_settings: Settings, tmp_path: Path) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        Path(urlsplit(meta_settings.location.url()).path).mkdir(parents=True, exist_ok=True)
        catalog = CatalogDriver(guard.admin)
        for number, name in enumerate(("mine", "other"), 1):
            SegmentWriter(guard.admin, catalog.dataset(name), tmp_path).write(rows=number)
        yield guard


@pytest.fixture
def gateway(guard: GuardedServer) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    keys = AccessSettings(access_key_id="id", secret_access_key="secret")
    server = GatewayServer(
        guard.address, token, auth_token=GATEWAY_TOKEN, refresh_secs=5.0, access=keys
    )
    yield server
    server.close()


@pytest.fixture
def limited(guard: GuardedServer) -> str:
    return guard.token(Role.READER, "limited", dataset_names=["mine"]).plaintext_token


def shown(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def calls_of(rpc: str) -> int:
    """Calls that the meta of this process has answered."""
    return sum(
        int(sample.value)
        for metric in metrics.RPC_SECONDS.collect()
        for sample in metric.samples
        if sample.name.endswith("_count") and sample.labels["rpc"].endswith(rpc)
    )
