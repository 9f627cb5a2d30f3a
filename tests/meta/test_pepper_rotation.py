"""The key of the hash of tokens is changed server by server, and no call is refused meanwhile."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings, load
from meta.errors import TokenUnknown, Unauthenticated
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.roles import Role
from meta.server import server
from meta.store.access.token_secrets import DATABASE_PEPPER, Peppers
from meta.v1 import ingest_token_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.repeated_calls import RepeatedCalls

OLD, NEW = b"the old pepper of this test", b"the new pepper of this test"
# As docs/access.md describes them.
STEPS = (Peppers(OLD), Peppers(OLD, upcoming=NEW), Peppers(NEW, previous=OLD), Peppers(NEW))


@contextmanager
def _serving(settings: Settings, peppers: Peppers) -> Iterator[str]:
    running = server.start(
        replace(settings, peppers=peppers, auth_token="shared", requires_authentication=True)
    )
    try:
        yield f"127.0.0.1:{running.port}"
    finally:
        running.stop(1.0)


@dataclass(frozen=True)
class Tokens:
    """Plaintexts of a reader's and an exporter's token, created by the old pepper."""

    access: str
    ingest: str
    ingest_id: str

    @classmethod
    def of(cls, admin: MetaClient, name: str = "web") -> "Tokens":
        catalog = CatalogDriver(admin)
        ingest = catalog.token(catalog.dataset(name))
        made = admin.operations.CreateAccessToken(
            pb.CreateAccessTokenRequest(subject="collector", role=Role.INGEST.value)
        )
        return cls(made.plaintext_token, ingest.plaintext, ingest.id)

    def use(self, address: str) -> None:
        with MetaClient(address, auth_token=self.access) as client:
            client.ingest_token.ValidateIngestToken(
                ingest_token_pb2.ValidateIngestTokenRequest(plaintext_token=self.ingest)
            )


def _is_old(address: str) -> tuple[set[bool], set[bool]]:
    with MetaClient(address, auth_token="shared") as admin:
        access = admin.operations.ListAccessTokens(pb.ListAccessTokensRequest()).tokens
        ingest = admin.ingest_token.ListIngestTokens(ingest_token_pb2.ListIngestTokensRequest())
    return (
        {token.needs_previous_pepper for token in access},
        {token.needs_previous_pepper for token in ingest.tokens},
    )


@pytest.mark.long
def test_a_rotation_server_by_server_refuses_no_call(meta_settings: Settings) -> None:
    addresses: list[str] = []
    with ExitStack() as stack:
        addresses.append(stack.enter_context(_serving(meta_settings, STEPS[0])))
        with MetaClient(addresses[0], auth_token="shared") as admin:
            tokens = Tokens.of(admin)

        def use_everywhere() -> None:
            for address in addresses[:]:
                tokens.use(address)

        with RepeatedCalls(use_everywhere) as calls:
            for step in STEPS[1:]:
                # The server of this step and that of the step before serve side by side.
                addresses.append(stack.enter_context(_serving(meta_settings, step)))
                calls.go_on()
                del addresses[0]
                calls.go_on()


def test_a_used_token_moves_and_the_old_pepper_is_needed_until_then(
    meta_settings: Settings, database_url: str
) -> None:
    with _serving(meta_settings, STEPS[0]) as address:
        with MetaClient(address, auth_token="shared") as admin:
            used, unused = Tokens.of(admin), Tokens.of(admin, "other")
        assert _is_old(address) == ({False}, {False})
    with _serving(meta_settings, STEPS[2]) as address:
        assert _is_old(address) == ({True}, {True})
        used.use(address)
        assert _is_old(address) == ({True, False}, {True, False})
    with _serving(meta_settings, STEPS[3]) as address:
        used.use(address)
        with pytest.raises(TokenUnknown):
            replace(unused, access=used.access).use(address)
        with pytest.raises(Unauthenticated):
            unused.use(address)
    with psycopg.connect(database_url) as connection:
        stored = connection.execute("SELECT pepper FROM access_tokens").fetchall()
    assert len(set(stored)) == 2


def test_the_databases_own_pepper_gives_way_to_a_configured_one(meta_settings: Settings) -> None:
    with _serving(meta_settings, Peppers()) as address:
        with MetaClient(address, auth_token="shared") as admin:
            tokens = Tokens.of(admin)
        tokens.use(address)
    with _serving(meta_settings, Peppers(NEW, previous=DATABASE_PEPPER)) as address:
        tokens.use(address)
    with _serving(meta_settings, Peppers(NEW)) as address:
        tokens.use(address)


def test_the_databases_own_pepper_is_not_its_previous_one() -> None:
    values = {
        "META_DATABASE_URL": "postgresql://x@localhost/x",
        "META_TOKEN_PEPPER_PREVIOUS": "database",
    }
    with pytest.raises(ConfigError, match="META_TOKEN_PEPPER"):
        load(Environment("META_", values))
    loaded = load(Environment("META_", {**values, "META_TOKEN_PEPPER": "p"}))
    assert loaded.peppers == Peppers(b"p", previous=DATABASE_PEPPER)
