"""meta over TLS: certificates, certificates of clients, and both renewed while calls go on."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from socket import create_connection
from typing import Any
from urllib.request import urlopen

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from meta.client import MetaClient, channel
from meta.client.channel import ClientTls
from meta.config import Settings, load
from meta.errors import Unavailable
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.metrics_address import MetricsAddress
from meta.process.metrics_port import serve_metrics
from meta.process.tls import ServerTls
from meta.server import server
from meta.v1 import catalog_pb2, catalog_pb2_grpc
from segplane.stack.preflight import claim_ports
from tests.support.certificates import Authority, CertificateFiles
from tests.support.repeated_calls import RepeatedCalls

GET = catalog_pb2.GetDatasetRequest(name="default")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


@contextmanager
def _serving(settings: Settings, tls: ServerTls) -> Iterator[server.RunningServer]:
    running = server.start(replace(settings, tls=tls))
    try:
        yield running
    finally:
        running.stop(1.0)


def _tls(files: CertificateFiles, client_ca: Path | None = None) -> ServerTls:
    return ServerTls(files.cert, files.key, client_ca)


def _peer_name(port: int, ca_file: Path) -> str:
    """The name in the certificate that a port shows."""
    context = ssl.create_default_context(cafile=str(ca_file))
    context.set_alpn_protocols(["h2"])
    with (
        create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secured,
    ):
        shown = secured.getpeercert()
    assert shown is not None
    names: Any = shown["subjectAltName"]
    return str(dict(names)["DNS"])


def test_a_client_that_trusts_the_authority_is_answered(
    meta_settings: Settings, authority: Authority
) -> None:
    with _serving(meta_settings, _tls(authority.issue("meta"))) as running:
        address = f"127.0.0.1:{running.port}"
        with MetaClient(address, tls=ClientTls(str(authority.ca_file))) as client:
            assert client.catalog.GetDataset(GET).name == "default"


def test_a_certificate_for_another_name_needs_that_name(
    meta_settings: Settings, authority: Authority
) -> None:
    with _serving(meta_settings, _tls(authority.issue("meta.internal"))) as running:
        address, ca_file = f"localhost:{running.port}", str(authority.ca_file)
        with MetaClient(address, tls=ClientTls(ca_file)) as client, pytest.raises(Unavailable):
            client.catalog.GetDataset(GET, timeout=5)
        named = ClientTls(ca_file, server_name="meta.internal")
        with MetaClient(address, tls=named) as client:
            assert client.catalog.GetDataset(GET).name == "default"


@pytest.mark.parametrize("trusts", ["another authority", "nobody: plain text"])
def test_a_client_without_the_authority_is_not_connected(
    meta_settings: Settings, authority: Authority, tmp_path: Path, trusts: str
) -> None:
    other = Authority(tmp_path / "other")
    tls = None if "plain" in trusts else ClientTls(str(other.ca_file))
    with (
        _serving(meta_settings, _tls(authority.issue("meta"))) as running,
        MetaClient(f"127.0.0.1:{running.port}", tls=tls) as client,
        pytest.raises(Unavailable),
    ):
        client.catalog.GetDataset(GET, timeout=5)


@pytest.mark.long
def test_clients_show_a_certificate_where_one_is_asked(
    meta_settings: Settings, authority: Authority, tmp_path: Path
) -> None:
    strangers = Authority(tmp_path / "strangers")
    known, stranger = authority.issue("nursery"), strangers.issue("stranger")
    tls = _tls(authority.issue("meta"), authority.ca_file)
    with _serving(meta_settings, tls) as running:
        address, ca_file = f"127.0.0.1:{running.port}", str(authority.ca_file)
        shown = ClientTls(ca_file, str(known.cert), str(known.key))
        with MetaClient(address, tls=shown) as client:
            assert client.catalog.GetDataset(GET).name == "default"
        wrong = ClientTls(ca_file, str(stranger.cert), str(stranger.key))
        for refused in (ClientTls(ca_file), wrong):
            with MetaClient(address, tls=refused) as client, pytest.raises(Unavailable):
                client.catalog.GetDataset(GET, timeout=5)


def test_a_renewed_certificate_is_shown_to_new_connections_and_no_call_fails(
    meta_settings: Settings, authority: Authority
) -> None:
    tls = _tls(authority.issue("before", "server"))
    trusted = ClientTls(str(authority.ca_file))
    with _serving(meta_settings, tls) as running:
        address = f"127.0.0.1:{running.port}"

        def connect_and_call() -> None:
            with MetaClient(address, tls=trusted) as newcomer:
                newcomer.catalog.GetDataset(GET)

        with (
            MetaClient(address, tls=trusted) as client,
            RepeatedCalls(lambda: client.catalog.GetDataset(GET), connect_and_call) as calls,
        ):
            assert _peer_name(running.port, authority.ca_file) == "before"
            for name in ("after", "later"):
                authority.issue(name, "server")
                assert _peer_name(running.port, authority.ca_file) == name
                calls.go_on()


def test_half_written_files_leave_the_certificate_in_use(
    meta_settings: Settings, authority: Authority
) -> None:
    files = authority.issue("before", "server")
    with _serving(meta_settings, _tls(files)) as running:
        old_key = files.key.read_bytes()
        authority.issue("after", "server")
        new_key = files.key.read_bytes()
        files.key.write_bytes(old_key)
        assert _peer_name(running.port, authority.ca_file) == "before"
        files.key.write_bytes(new_key)
        assert _peer_name(running.port, authority.ca_file) == "after"


def test_a_client_takes_renewed_files_without_a_failed_call(
    meta_settings: Settings, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "CHECK_SECS", 0.0)
    mine = authority.issue("nursery")
    tls = _tls(authority.issue("meta"), authority.ca_file)
    with _serving(meta_settings, tls) as running:
        shown = ClientTls(str(authority.ca_file), str(mine.cert), str(mine.key))
        with MetaClient(f"127.0.0.1:{running.port}", tls=shown) as client:
            assert client.catalog.GetDataset(GET).name == "default"
            before = client._endpoints.pick().connection()
            mine.cert.write_text("half written")
            assert client.catalog.GetDataset(GET).name == "default"
            old_key = mine.key.read_bytes()
            authority.issue("nursery")
            new_key = mine.key.read_bytes()
            mine.key.write_bytes(old_key)
            assert client.catalog.GetDataset(GET).name == "default"
            assert client._endpoints.pick().connection() is before
            mine.key.write_bytes(new_key)
            assert client.catalog.GetDataset(GET).name == "default"
            assert client._endpoints.pick().connection() is not before


def test_health_is_answered_in_plain_text_on_its_own_port(
    meta_settings: Settings, authority: Authority
) -> None:
    port = claim_ports({"health": 0})["health"]
    settings = replace(meta_settings, health_bind=f"127.0.0.1:{port}")
    with (
        _serving(settings, _tls(authority.issue("meta"))),
        grpc.insecure_channel(settings.health_bind) as plain,
    ):
        reply = health_pb2_grpc.HealthStub(plain).Check(health_pb2.HealthCheckRequest(), timeout=10)
        assert reply.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
            catalog_pb2_grpc.CatalogServiceStub(plain).GetDataset(GET, timeout=10)


def test_metrics_are_served_over_tls_beside_a_silent_peer(authority: Authority) -> None:
    port = claim_ports({"metrics": 0})["metrics"]
    serve_metrics(MetricsAddress("127.0.0.1", port, _tls(authority.issue("metrics"))))
    context = ssl.create_default_context(cafile=str(authority.ca_file))

    with create_connection(("127.0.0.1", port), timeout=10):
        body = urlopen(f"https://127.0.0.1:{port}/metrics", context=context, timeout=5).read()

    assert b"python_info" in body


def _load(values: dict[str, str]) -> Settings:
    required = {"META_DATABASE_URL": "postgresql://nobody@127.0.0.1/x"}
    return load(Environment("META_", required | values))


def test_wrong_tls_settings_are_refused_in_one_line(authority: Authority) -> None:
    one, other = authority.issue("one"), authority.issue("other")
    with pytest.raises(ConfigError, match="both META_TLS_CERT_FILE and META_TLS_KEY_FILE"):
        _load({"META_TLS_CERT_FILE": str(one.cert)})
    with pytest.raises(ConfigError, match="cannot be used"):
        _load({"META_TLS_CERT_FILE": str(one.cert), "META_TLS_KEY_FILE": str(other.key)})
    with pytest.raises(ConfigError, match="cannot be used"):
        _load({"META_TLS_CERT_FILE": "/nowhere.pem", "META_TLS_KEY_FILE": str(one.key)})


def test_an_open_bind_is_allowed_where_clients_show_certificates(authority: Authority) -> None:
    one = authority.issue("one")
    files = {"META_TLS_CERT_FILE": str(one.cert), "META_TLS_KEY_FILE": str(one.key)}
    with pytest.raises(ConfigError, match="open to the network"):
        _load({"META_BIND": "0.0.0.0:9500", **files})

    asking = _load(
        {
            "META_BIND": "0.0.0.0:9500",
            **files,
            "META_TLS_CLIENT_CA_FILE": str(authority.ca_file),
        }
    )

    assert asking.tls is not None
