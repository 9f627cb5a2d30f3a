"""Two metas behind HAProxy with the configuration of docs/haproxy.cfg; skipped where it is not."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.harness.strangers import closed, held_connections
from meta.client import ClientTls, MetaClient
from meta.config import Settings
from meta.process.tls import ServerTls
from meta.server import server
from meta.v1.catalog_pb2 import CreateDatasetRequest, GetDatasetRequest
from tests.support.certificates import Authority
from tests.support.meta.cut_proxy import CutProxy, Fault, cut_proxy
from tests.support.meta.haproxy import HAPROXY, running_haproxy
from tests.support.repeated_calls import RepeatedCalls
from tests.support.waiting import wait_until

NAME = "meta.internal"
STRANGERS = 20
GET = GetDatasetRequest(name="default")
pytestmark = pytest.mark.skipif(HAPROXY is None, reason="needs haproxy: apt-get install haproxy")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


@pytest.fixture
def metas(meta_settings: Settings, authority: Authority) -> Iterator[tuple[CutProxy, CutProxy]]:
    """Two servers with TLS, each behind a proxy that can fail."""
    files = authority.issue(NAME)
    settings = replace(meta_settings, threads=4, tls=ServerTls(files.cert, files.key, None))
    first, second = server.start(settings), server.start(settings)
    try:
        with (
            cut_proxy(f"127.0.0.1:{first.port}") as before_first,
            cut_proxy(f"127.0.0.1:{second.port}") as before_second,
        ):
            yield before_first, before_second
    finally:
        first.stop(0)
        second.stop(0)


@pytest.fixture
def address(
    metas: tuple[CutProxy, CutProxy], authority: Authority, tmp_path: Path
) -> Iterator[str]:
    """Run HAProxy; gives where clients connect."""
    addresses = [proxy.address for proxy in metas]
    with running_haproxy(tmp_path, addresses, Path(authority.ca_file)) as address:
        yield address


def test_calls_go_on_behind_a_balancer_while_metas_fail_in_turn(
    metas: tuple[CutProxy, CutProxy], address: str, authority: Authority
) -> None:
    tls = ClientTls(str(authority.ca_file), server_name=NAME)
    slowest_secs, lock = [0.0], threading.Lock()

    with MetaClient(address, tls=tls) as client:

        def call() -> None:
            began = time.monotonic()
            assert client.catalog.GetDataset(GET).name == "default"
            with lock:
                slowest_secs[0] = max(slowest_secs[0], time.monotonic() - began)

        with RepeatedCalls(call) as calls:
            calls.go_on()
            for proxy, fault in zip(metas, (Fault.KILLED, Fault.STOPPED), strict=True):
                proxy.fail(fault)
                calls.go_on()
                created = client.catalog.CreateDataset(CreateDatasetRequest(name=fault.name))
                assert created.id
                proxy.fail(None)
                _wait_for_checks(metas)

    assert slowest_secs[0] < 10.0


def test_strangers_that_say_nothing_leave_their_places_to_clients(
    metas: tuple[CutProxy, CutProxy], authority: Authority, tmp_path: Path
) -> None:
    few = {"maxconn 4000": f"maxconn {STRANGERS}", "inspect-delay 5s": "inspect-delay 1s"}
    addresses = [proxy.address for proxy in metas]
    tls = ClientTls(str(authority.ca_file), server_name=NAME)
    with (
        running_haproxy(tmp_path, addresses, Path(authority.ca_file), few) as address,
        held_connections(int(address.rpartition(":")[2]), 2 * STRANGERS) as held,
        MetaClient(address, tls=tls) as client,
    ):
        assert client.catalog.GetDataset(GET, timeout=30).name == "default"
        wait_until(lambda: closed(held) == len(held), "the end of all strangers", seconds=30)


def _wait_for_checks(metas: tuple[CutProxy, CutProxy]) -> None:
    """Wait until the balancer has found both healthy: it looks each second, and twice."""
    before = [proxy.accepted for proxy in metas]
    wait_until(
        lambda: all(p.accepted >= b + 3 for p, b in zip(metas, before, strict=True)),
        "three checks of each",
        seconds=20,
    )
