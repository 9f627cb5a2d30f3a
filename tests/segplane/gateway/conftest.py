"""A gateway over a real meta, and a dataset with real segments."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_server(meta_server: MetaServer) -> MetaServer:
    """The meta under test, with its store's folder, which a probe creates elsewhere."""
    location = meta_server.settings.location
    if location.provider == "file":
        Path("/", location.path).mkdir(exist_ok=True)
    return meta_server


@pytest.fixture(scope="session")
def query_pool() -> Iterator[SharedPool]:
    """Give the launcher of queries that gateways share; it starts with the first query."""
    pool = SharedPool()
    yield pool
    pool.end()


@pytest.fixture
def gateway(meta_server: MetaServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    running = GatewayServer(meta_server.address, pool=query_pool)
    yield running
    running.close()


@pytest.fixture
def segments(meta_server: MetaServer, tmp_path: Path) -> SegmentWriter:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    return SegmentWriter(meta_server.client, dataset, tmp_path)
