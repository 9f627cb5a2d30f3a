"""A meta that needs a credential, and clients of it with tokens of any role."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from meta.client import MetaClient
from meta.client.channel import ClientTls
from meta.config import Settings
from meta.roles import Role
from meta.server import server
from meta.store.access import token_secrets
from meta.v1 import operations_pb2 as pb


@dataclass(frozen=True)
class GuardedServer:
    """Address of a server, and a client with its META_AUTH_TOKEN."""

    address: str
    admin: MetaClient
    running: server.RunningServer

    def token(self, role: Role, subject: str = "", **fields: Any) -> pb.CreateAccessTokenResponse:
        """Create an access token."""
        request = pb.CreateAccessTokenRequest(
            subject=subject or f"the {role.value}", role=role.value, **fields
        )
        return self.admin.operations.CreateAccessToken(request)

    @contextmanager
    def client(self, role: Role, subject: str = "", **fields: Any) -> Iterator[MetaClient]:
        """Connect with a new token."""
        plaintext = self.token(role, subject, **fields).plaintext_token
        with MetaClient(self.address, auth_token=plaintext) as client:
            yield client


@contextmanager
def guarded(settings: Settings, ca_file: str = "") -> Iterator[GuardedServer]:
    """Run a server that needs a credential; its clients trust `ca_file` where it has TLS."""
    running = server.start(replace(settings, auth_token="shared", requires_authentication=True))
    address = f"127.0.0.1:{running.port}"
    try:
        tls = ClientTls(ca_file) if ca_file else None
        with MetaClient(address, auth_token="shared", tls=tls) as admin:
            yield GuardedServer(address, admin, running)
    finally:
        running.stop(1.0)


def ended_access_tokens(guard: GuardedServer, database_url: str) -> dict[str, str]:
    """A token of each kind that is refused, by the kind."""
    revoked, expired = guard.token(Role.READER), guard.token(Role.READER)
    request = pb.RevokeAccessTokenRequest(token_id=revoked.token.id)
    guard.admin.operations.RevokeAccessToken(request)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE access_tokens SET expires_at = now() WHERE id = %s", [expired.token.id]
        )
    unknown = token_secrets.new_plaintext(token_secrets.ACCESS_PREFIX)
    return {
        "unknown": unknown,
        "revoked": revoked.plaintext_token,
        "expired": expired.plaintext_token,
    }
