"""Lists of addresses and names in DNS: which servers are used, and for how long."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataplane.settings import ProcessSettings
from meta.client import MetaClient, endpoints
from meta.client.addresses import ADDRESSES_MAX, ServerTarget, split_addresses
from meta.client.channel import ClientTls
from meta.client.connections import Endpoint
from meta.client.endpoints import MetaServers
from meta.config import Settings
from meta.errors import Unavailable
from meta.process.declared import read_declared
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.tls import ServerTls
from meta.server import server
from meta.v1.catalog_pb2 import GetDatasetRequest
from tests.meta.client.conftest import TwoMetas
from tests.support.certificates import Authority
from tests.support.meta.cut_proxy import Fault
from tests.support.waiting import wait_until

GET = GetDatasetRequest(name="default")
NAME = "meta.example"


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a:9500", ["a"]),
        ("a:9500,b:9501", ["a", "b"]),
        (" a:1 , a:1 ,[::1]:65535", ["a", "[::1]"]),
        ("meta", ["meta"]),
        ("unix:/run/meta", [""]),
        (",".join(f"m{i}:1" for i in range(ADDRESSES_MAX)), [f"m{i}" for i in range(16)]),
    ],
)
def test_addresses_are_split(text: str, hosts: list[str]) -> None:
    assert [address.host for address in split_addresses(text)] == hosts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty entry in '' is not an address"),
        ("a:1,,b:1", "an empty entry in 'a:1,,b:1' is not an address"),
        ("a:1,b", "'b' in 'a:1,b' has no port"),
        ("a:0", "'a:0' has port 0, expected 1 to 65535"),
        ("a:1,b:65536", "'b:65536' has port 65536"),
        ("a:1 b:1", "'a:1 b:1' is not an address"),
        ("https://a:1", "'https://a:1' is not an address"),
        ("fe80::1:9500", "'fe80::1:9500' is not an address"),
        (",".join(f"m{i}:1" for i in range(ADDRESSES_MAX + 1)), "17 addresses, of which a list"),
    ],
)
def test_what_is_not_a_list_of_addresses_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        MetaClient(text)
    with pytest.raises(ConfigError, match=f"JANITOR_META_ADDRESS: {message}"):
        read_declared(Environment("JANITOR_", {"JANITOR_META_ADDRESS": text}), ProcessSettings)


def test_a_client_stays_with_one_server_and_leaves_the_other_without_a_connection(
    metas: TwoMetas,
) -> None:
    with MetaClient(metas.addresses) as client:
        assert not any(proxy.accepted for proxy in metas.proxies)
        for _ in range(20):
            client.catalog.GetDataset(GET)

        assert metas.other(metas.in_use()).accepted == 0


def test_clients_spread_over_servers_again_after_one_was_away(
    metas: TwoMetas, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = metas.proxies
    with ExitStack() as stack:
        second.fail(Fault.KILLED)
        clients = [stack.enter_context(MetaClient(metas.addresses)) for _ in range(8)]
        for client in clients:
            client.catalog.GetDataset(GET)
        second.fail(None)
        assert second.connections == 0

        for name in ("STAY_SECS_MIN", "STAY_SECS_MAX"):
            monkeypatch.setattr(endpoints, name, 0.1)
        for client in clients:
            client._endpoints._stays_until = 0.0

        def use_both() -> None:
            for client in clients:
                client.catalog.GetDataset(GET)

        wait_until(lambda: second.connections > 0, "the second is used", seconds=20, tick=use_both)
    assert first.accepted


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names in DNS, by name; a test adds to them. Others are resolved as usual."""
    known: dict[str, list[str]] = {}
    resolve: Callable[..., Any] = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        if host not in known:
            return resolve(host, port, *args, **kwargs)
        kind = socket.SOCK_STREAM
        return [(socket.AF_INET, kind, 6, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


@contextmanager
def serving(
    settings: Settings, hosts: list[str], tls: list[ServerTls] | None = None
) -> Iterator[int]:
    """Run a server at one port of each host; gives the port."""
    running: list[server.RunningServer] = []
    port = 0
    for place, host in enumerate(hosts):
        changed = replace(settings, bind=f"{host}:{port}", tls=tls[place] if tls else None)
        running.append(server.start(changed))
        port = running[0].port
    try:
        yield port
    finally:
        for each in running:
            each.stop(0)


def test_a_name_with_several_addresses_is_several_servers(
    meta_settings: Settings, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "NAME_SECS_MIN", 0.0)
    # Nobody listens at the last of them.
    names[NAME] = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
    with (
        serving(meta_settings, ["127.0.0.2", "127.0.0.5"]) as port,
        MetaClient(f"{NAME}:{port}") as client,
    ):
        assert client.catalog.GetDataset(GET).name == "default"

        # Its machine is replaced by another one: the name is resolved again.
        names[NAME] = ["127.0.0.3", "127.0.0.5"]
        client._endpoints._resolved_at = float("-inf")
        assert client.catalog.GetDataset(GET).name == "default"
        targets = [e.target.target for e in client._endpoints._endpoints]
        assert targets == [f"127.0.0.3:{port}", f"127.0.0.5:{port}"]

        # Without an answer of DNS, the last one holds.
        names[NAME] = []
        monkeypatch.setattr(socket, "getaddrinfo", _no_answer)
        client._endpoints._resolved_at = float("-inf")
        assert client.catalog.GetDataset(GET).name == "default"


def _no_answer(*_: Any, **__: Any) -> Any:
    raise socket.gaierror("no answer")


def test_each_address_of_a_name_must_have_its_certificate(
    meta_settings: Settings, names: dict[str, list[str]], tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "tls")
    right, wrong = authority.issue(NAME), authority.issue("another.example")
    tls = [ServerTls(files.cert, files.key, None) for files in (right, wrong)]
    trusted = ClientTls(str(authority.ca_file))
    names[NAME] = ["127.0.0.2", "127.0.0.3"]
    with serving(meta_settings, names[NAME], tls) as port:
        for _ in range(4):
            with MetaClient(f"{NAME}:{port}", tls=trusted) as client:
                assert client.catalog.GetDataset(GET).name == "default"
        # Only the server with the other certificate is left, and it is not used.
        names[NAME] = ["127.0.0.3", "127.0.0.4"]
        with MetaClient(f"{NAME}:{port}", tls=trusted) as client, pytest.raises(Unavailable):
            client.catalog.GetDataset(GET)
        named = replace(trusted, server_name="another.example")
        with MetaClient(f"{NAME}:{port}", tls=named) as client:
            assert client.catalog.GetDataset(GET).name == "default"


def test_each_address_of_a_list_must_have_its_certificate(
    meta_settings: Settings, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "tls")
    # Good for 127.0.0.1, and not for localhost.
    files = authority.issue("meta-2")
    trusted = ClientTls(str(authority.ca_file))
    tls = [ServerTls(files.cert, files.key, None)]
    with serving(meta_settings, ["127.0.0.1"], tls) as port:
        with MetaClient(f"localhost:{port}", tls=trusted) as alone, pytest.raises(Unavailable):
            alone.catalog.GetDataset(GET)
        for _ in range(4):
            with MetaClient(f"localhost:{port},127.0.0.1:{port}", tls=trusted) as client:
                assert client.catalog.GetDataset(GET).name == "default"


def test_a_server_that_left_dns_while_others_are_tidied_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter("abccccc")

    def resolve(address: object) -> list[ServerTarget]:
        return [ServerTarget(f"{next(answers)}:1")]

    def wait_for_dns(seconds: float) -> None:
        for thread in threading.enumerate():
            if thread.name == "meta-names":
                thread.join(seconds)

    closed = set[str]()
    tidy, close = Endpoint.tidy, Endpoint.close

    def tidied(endpoint: Endpoint) -> bool:
        if endpoint.target.target == "a:1":
            # Its answer is "c", so "b" is left while this list is walked.
            asking = threading.Thread(target=servers.pick, daemon=True)
            asking.start()
            asking.join(0.2)
            wait_for_dns(0.2)
        return tidy(endpoint)

    def noted(endpoint: Endpoint) -> None:
        closed.add(endpoint.target.target)
        close(endpoint)

    monkeypatch.setattr(endpoints, "resolve", resolve)
    monkeypatch.setattr(endpoints, "NAME_SECS", 0.0)
    monkeypatch.setattr(Endpoint, "tidy", tidied)
    monkeypatch.setattr(Endpoint, "close", noted)
    servers = MetaServers(f"{NAME}:1", None, 60.0)
    for _ in range(2):
        servers.pick()
        wait_for_dns(10.0)
    servers.tidy()
    servers.close()

    wait_until(lambda: closed >= {"b:1", "c:1"}, "both are closed", seconds=10)
