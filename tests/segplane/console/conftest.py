"""A console over a real gateway and a real meta, for everybody."""

from collections.abc import Iterator

import pytest

from tests.segplane.gateway.conftest import meta_server, query_pool, segments
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.visitors import AnyVisitors
from tests.support.meta.server import MetaServer

__all__ = ["meta_server", "query_pool", "segments"]


@pytest.fixture
def console(meta_server: MetaServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    running = GatewayServer(meta_server.address, pool=query_pool, visitors=AnyVisitors())
    yield running
    running.close()
