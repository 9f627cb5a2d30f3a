"""Access tokens and rules of tenants: how many there are, which are kept, and names of tenants."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from meta import identities
from meta.client import MetaClient
from meta.client.channel import ClientTls
from meta.config import Settings
from meta.errors import (
    InvalidArgument,
    MetaError,
    QuotaExceeded,
    RoleRefused,
    Unauthenticated,
)
from meta.process.environment import Environment
from meta.process.tls import ServerTls
from meta.roles import Role
from meta.rpc import access_token_cache, tenant_cache
from meta.server import server
from meta.services.access import access_tokens
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.certificates import Authority
from tests.support.meta.guarded import GuardedServer
from tests.support.meta.tenants import (
    TenantDriver,
    TwoTenants,
    for_tenants,
    guarded_for_tenants,
    new_token,
    two_tenants,
)
from tests.support.waiting import wait_until

LIST = catalog_pb2.ListDatasetsRequest()
STATE = pb.GetServerStateRequest()


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded_for_tenants(meta_settings) as running:
        yield running


@pytest.fixture
def scene(guard: GuardedServer) -> Iterator[TwoTenants]:
    with two_tenants(guard) as tenants:
        yield tenants


def _caller(client: MetaClient) -> pb.Caller:
    return client.operations.GetServerState(STATE).caller


def _refusal(client: MetaClient) -> type[MetaError] | None:
    try:
        client.catalog.ListDatasets(LIST)
    except MetaError as error:
        return type(error)
    return None


def test_tokens_are_limited_in_each_tenant_and_in_all(
    scene: TwoTenants, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_tokens, "ALL_ACCESS_TOKENS_MAX", 1_003)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            """
            INSERT INTO access_tokens (id, subject, role, digest, hint, tenant_key)
            SELECT gen_random_uuid(), 's', 'reader', convert_to(n::text, 'UTF8'), '',
              (SELECT key FROM tenants WHERE name = 'payments')
            FROM generate_series(2, %s) n
            """,
            [access_tokens.ACCESS_TOKENS_MAX],
        )
    # Each tenant has its own number of tokens.
    with pytest.raises(QuotaExceeded, match="of a tenant"):
        new_token(scene.payments, Role.READER)
    for _ in range(2):
        new_token(scene.search, Role.READER)
    with pytest.raises(QuotaExceeded, match="all tenants"):
        new_token(scene.search, Role.READER)


def test_the_tokens_that_are_kept_are_few_and_those_shown_last(
    scene: TwoTenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_token_cache, "KEPT_MAX", 2)
    monkeypatch.setattr(access_token_cache, "SNAPSHOT_SECS", 0.2)
    tokens = [new_token(scene.payments, Role.READER, f"s{number}") for number in range(5)]
    clients = [MetaClient(scene.guard.address, auth_token=t.plaintext_token) for t in tokens]
    try:
        for _ in range(3):
            assert [_refusal(client) for client in clients] == [None] * len(clients)
        revoke = pb.RevokeAccessTokenRequest(token_id=tokens[0].token.id)
        scene.payments.operations.RevokeAccessToken(revoke)
        wait_until(lambda: _refusal(clients[0]) is Unauthenticated, "the revocation")
        assert [_refusal(client) for client in clients[1:]] == [None] * 4
    finally:
        for client in clients:
            client.close()


def test_a_rule_gives_a_role_in_a_tenant(
    meta_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_cache, "TENANT_SECS", 0.1)
    authority = Authority(tmp_path / "tls")
    own, files = authority.issue("meta"), authority.issue("pay-1")
    tls = ServerTls(own.cert, own.key, authority.ca_file)
    rules = (
        "pay-1=reader@payments, pay-1=catalog@search, pay-1=catalog@payments, pay-1=tenant-reader@x"
    )
    env = Environment("META_", {"META_TLS_SUBJECT_ROLES": rules})
    settings = replace(
        for_tenants(meta_settings),
        tls=tls,
        certificate_rules=identities.certificate_rules(env, tls),
    )
    running = server.start(replace(settings, auth_token="shared", requires_authentication=True))
    address = f"127.0.0.1:{running.port}"
    client_tls = ClientTls(str(authority.ca_file), str(files.cert), str(files.key))
    try:
        with MetaClient(address, auth_token="shared", tls=client_tls) as admin:
            _check_rules(address, client_tls, TenantDriver(admin))
    finally:
        running.stop(1.0)


def _check_rules(address: str, tls: ClientTls, drivers: TenantDriver) -> None:
    def caller(tenant: str) -> tuple[str, str]:
        with MetaClient(address, tls=tls, tenant=tenant) as client:
            answer = _caller(client)
            return answer.role, answer.tenant

    with pytest.raises(Unauthenticated):
        caller("")
    drivers.create("payments")
    wait_until(lambda: _is_answered(lambda: caller("")), "the tenant is seen")
    assert caller("") == ("reader", "payments")
    drivers.create("search")
    wait_until(lambda: _is_answered(lambda: caller("search")), "the tenant is seen")
    assert caller("search") == ("catalog", "search")
    with pytest.raises(InvalidArgument, match="several tenants") as refused:
        caller("")
    _, *tenants = refused.value.metadata["tenants"].split("\n")
    assert tenants == ["payments", "search"]
    # Rules go by names: a tenant that takes one has the rule, tokens follow the tenant.
    drivers.rename("payments", "billing")
    wait_until(lambda: not _is_answered(lambda: caller("payments")), "the new name")
    assert caller("") == ("catalog", "search")


def _is_answered(call: object) -> bool:
    assert callable(call)
    try:
        call()
    except (Unauthenticated, RoleRefused):
        return False
    return True
