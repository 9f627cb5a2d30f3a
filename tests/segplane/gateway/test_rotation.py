"""A gateway whose certificate and whose token for meta are renewed while callers read tables."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from meta.client import bearer_token
from meta.config import Settings
from meta.process.environment import Environment
from meta.process.tls import ServerTls
from meta.roles import Role
from meta.rpc import access_token_cache
from meta.v1 import operations_pb2 as pb
from segplane.gateway import config
from segplane.gateway.http import callers
from tests.support.certificates import Authority
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.server import MetaServer
from tests.support.repeated_calls import RepeatedCalls


@dataclass(frozen=True)
class TlsGateway:
    """A gateway with TLS over a meta that needs a credential, whose token is in a file."""

    guard: GuardedServer
    authority: Authority
    token_file: Path
    port: int

    @property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority.ca_file))

    def load_table(self) -> None:
        """Load a table and list tables, over new connections; raises HTTPError."""
        for path in ("tables/web", "tables"):
            url = f"https://127.0.0.1:{self.port}/iceberg/v1/namespaces/default/{path}"
            with urlopen(url, context=self.context, timeout=20) as reply:
                assert reply.status == 200

    def certificate(self) -> bytes:
        """The certificate that it shows."""
        with (
            create_connection(("127.0.0.1", self.port), timeout=10) as plain,
            self.context.wrap_socket(plain, server_hostname="127.0.0.1") as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
        assert shown is not None
        return shown

    def rotate_token(self) -> str:
        """Write a new token into the file; returns its id."""
        created = self.guard.token(Role.GATEWAY, "gateway")
        self.token_file.write_text(created.plaintext_token)
        return created.token.id


@pytest.fixture
def gateway(
    meta_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TlsGateway]:
    monkeypatch.setattr(bearer_token, "CHECK_SECS", 0.0)
    monkeypatch.setattr(access_token_cache, "SNAPSHOT_SECS", 0.0)
    Path(urlsplit(meta_settings.location.url()).path).mkdir(parents=True, exist_ok=True)
    authority, token_file = Authority(tmp_path / "tls"), tmp_path / "token"
    served = authority.issue("gateway")
    with guarded(meta_settings) as guard:
        CatalogDriver(guard.admin).dataset("web")
        token_file.write_text(guard.token(Role.GATEWAY, "gateway").plaintext_token)
        running = GatewayServer(
            guard.address,
            meta_auth_token_file=str(token_file),
            tls=ServerTls(served.cert, served.key),
        )
        try:
            yield TlsGateway(guard, authority, token_file, running.port)
        finally:
            running.close()


def test_a_renewed_certificate_is_shown_and_no_call_fails(gateway: TlsGateway) -> None:
    with RepeatedCalls(gateway.load_table) as calls:
        for _ in range(2):
            former = gateway.certificate()
            gateway.authority.issue("gateway")
            assert gateway.certificate() != former
            calls.go_on(5)


def test_a_rotated_token_for_meta_fails_no_call(gateway: TlsGateway) -> None:
    tokens = gateway.guard.admin.operations.ListAccessTokens(pb.ListAccessTokensRequest()).tokens
    (token_id,) = (token.id for token in tokens)
    with RepeatedCalls(gateway.load_table) as calls:
        for _ in range(2):
            former, token_id = token_id, gateway.rotate_token()
            calls.go_on(5)
            revoke = pb.RevokeAccessTokenRequest(token_id=former)
            gateway.guard.admin.operations.RevokeAccessToken(revoke)
            calls.go_on(5)


def test_the_gateways_own_token_is_rotated_without_a_restart(
    meta_server: MetaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "CHECK_SECS", 0.0)
    file = tmp_path / "token"
    file.write_text("first of the gateway\n")
    settings = {"GATEWAY_META_ADDRESS": meta_server.address, "GATEWAY_AUTH_TOKEN_FILE": str(file)}
    loaded = config.load(Environment("GATEWAY_", settings))
    gateway = GatewayServer(
        meta_server.address, auth_token=loaded.auth_token, auth_token_file=loaded.auth_token_file
    )

    def status(token: str) -> int:
        url = f"http://127.0.0.1:{gateway.port}/iceberg/v1/config"
        request = Request(url, headers={"Authorization": f"Bearer {token}"})
        try:
            with urlopen(request, timeout=20) as reply:
                return int(reply.status)
        except HTTPError as error:
            return error.code

    def ask(token: str) -> None:
        assert status(token) == 200

    try:
        assert status("second of the gateway") == 401
        with RepeatedCalls(lambda: ask("first of the gateway")) as calls:
            file.write_text("first of the gateway\nsecond of the gateway\n")
            calls.go_on(3)
            ask("second of the gateway")
        file.write_text("second of the gateway\n")
        assert status("first of the gateway") == 401
        # While it is written again, and while it is missing, the last token is valid.
        for change in (lambda: file.write_text(""), file.unlink):
            change()
            ask("second of the gateway")
            assert status("") == 401
    finally:
        gateway.close()
