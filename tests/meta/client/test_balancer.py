"""Two metas behind HAProxy with the configuration of docs/haproxy.cfg; skipped where it is not."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from socket import create_connection

import pytest

from meta.client import ClientTls, MetaClient
from meta.config import Settings
from meta.process import ServerTls
from meta.server import server
from meta.v1.catalog_pb2 import CreateDatasetRequest, GetDatasetRequest
from segplane.stack.preflight import claim_ports
from tests.support.certificates import Authority
from tests.support.meta.cut_proxy import CutProxy, Fault, cut_proxy
from tests.support.repeated_calls import RepeatedCalls
from tests.support.waiting import wait_until

CONFIGURATION = Path(__file__).parents[3] / "docs" / "haproxy.cfg"
NAME = "meta.internal"
GET = GetDatasetRequest(name="default")
# Debian has it in a folder that is not on every user's path.
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")

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
    port = claim_ports({"haproxy": 0})["haproxy"]
    text = CONFIGURATION.read_text()
    for documented, used in (
        ("bind :9500", f"bind 127.0.0.1:{port}"),
        ("10.0.0.11:9500", metas[0].address),
        ("10.0.0.12:9500", metas[1].address),
        ("/etc/segplane/ca.pem", str(authority.ca_file)),
    ):
        assert text.count(documented) == 1, documented
        text = text.replace(documented, used)
    file = tmp_path / "haproxy.cfg"
    file.write_text(text)
    assert HAPROXY is not None
    with subprocess.Popen([HAPROXY, "-db", "-f", str(file)]) as process:
        try:
            wait_until(lambda: _listens(port), "haproxy listens", seconds=10)
            yield f"127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)


def _listens(port: int) -> bool:
    try:
        create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


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


def _wait_for_checks(metas: tuple[CutProxy, CutProxy]) -> None:
    """Wait until the balancer has found both healthy: it looks each second, and twice."""
    before = [proxy.accepted for proxy in metas]
    wait_until(
        lambda: all(p.accepted >= b + 3 for p, b in zip(metas, before, strict=True)),
        "three checks of each",
        seconds=20,
    )
