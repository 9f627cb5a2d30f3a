"""Two metas on one database, each behind a proxy that can fail."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.server import server
from tests.support.meta.cut_proxy import CutProxy, cut_proxy


@dataclass(frozen=True)
class TwoMetas:
    """Two servers, by the proxies before them."""

    proxies: tuple[CutProxy, CutProxy]
    servers: tuple[server.RunningServer, server.RunningServer]

    @property
    def addresses(self) -> str:
        """Both addresses, as a setting."""
        return ",".join(proxy.address for proxy in self.proxies)

    def in_use(self) -> CutProxy:
        """The proxy of the only server that a client is connected to."""
        (proxy,) = (proxy for proxy in self.proxies if proxy.connections)
        return proxy

    def other(self, proxy: CutProxy) -> CutProxy:
        """The proxy of the other server."""
        (other,) = (other for other in self.proxies if other is not proxy)
        return other

    def server_of(self, proxy: CutProxy) -> server.RunningServer:
        """The server behind a proxy."""
        return self.servers[self.proxies.index(proxy)]


@pytest.fixture
def metas(meta_settings: Settings) -> Iterator[TwoMetas]:
    """Run two servers on one database."""
    settings = replace(meta_settings, threads=4)
    first, second = server.start(settings), server.start(settings)
    try:
        with (
            cut_proxy(f"127.0.0.1:{first.port}") as before_first,
            cut_proxy(f"127.0.0.1:{second.port}") as before_second,
        ):
            yield TwoMetas((before_first, before_second), (first, second))
    finally:
        first.stop(0)
        second.stop(0)


@pytest.fixture
def client(metas: TwoMetas) -> Iterator[MetaClient]:
    """Give a client of both."""
    with MetaClient(metas.addresses) as client:
        yield client
