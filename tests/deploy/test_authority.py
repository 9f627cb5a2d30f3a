"""A private authority: its certificates are accepted by TLS, and renewed when they are due."""

import socket
import ssl
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from segplane.deploy import authority
from segplane.deploy.authority import Authority
from segplane.deploy.probe import is_working

HOSTS = ["localhost", "127.0.0.1"]


def issued(folder: Path, hosts: list[str] = HOSTS) -> bool:
    return Authority(folder).ready("gateway", hosts)


def test_a_certificate_is_issued_once_and_keys_are_secret(tmp_path: Path) -> None:
    assert issued(tmp_path)
    before = (tmp_path / "gateway.pem").read_bytes()

    assert not issued(tmp_path)
    assert (tmp_path / "gateway.pem").read_bytes() == before
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"ca.key": 0o600, "ca.pem": 0o644, "gateway.key": 0o600, "gateway.pem": 0o644}


def test_a_certificate_is_renewed_for_other_hosts_and_near_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued(tmp_path)
    assert issued(tmp_path, [*HOSTS, "store"])

    # One that has less than a third of its time.
    monkeypatch.setattr(authority, "CERTIFICATE_DAYS", 3 * authority.CERTIFICATE_DAYS + 1)
    assert Authority(tmp_path).is_due("gateway", [*HOSTS, "store"])


def test_an_authority_is_whole_after_a_crash_between_its_two_files(tmp_path: Path) -> None:
    issued(tmp_path)
    (tmp_path / "ca.key").unlink()

    Authority(tmp_path).ready("meta", HOSTS)

    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    assert len(context.get_ca_certs()) == 1
    assert _handshake(tmp_path, "meta", context)


def _handshake(folder: Path, name: str, context: ssl.SSLContext) -> bool:
    """Open a TLS connection to a server with a certificate of the authority."""
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    ours, theirs = socket.socketpair()

    def accept() -> None:
        server.wrap_socket(theirs, server_side=True).close()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        with context.wrap_socket(ours, server_hostname="localhost") as connection:
            return connection.version() is not None
    finally:
        thread.join()


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_a_probe_trusts_the_authority_and_knows_a_failure(tmp_path: Path) -> None:
    issued(tmp_path)
    server = HTTPServer(("127.0.0.1", 0), _Answer)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "gateway.pem", tmp_path / "gateway.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url, ca_file = f"https://127.0.0.1:{server.server_port}", str(tmp_path / "ca.pem")
    try:
        assert is_working(f"{url}/healthz", ca_file)
        assert not is_working(f"{url}/other", ca_file)
        assert not is_working(f"{url}/healthz")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert not is_working(f"{url}/healthz", ca_file)


def test_a_certificate_has_time_for_a_renewal() -> None:
    assert timedelta(days=authority.CERTIFICATE_DAYS) * authority._DUE >= timedelta(days=30)
