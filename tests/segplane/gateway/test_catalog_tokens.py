"""Tokens of the catalog's callers: which are taken, for how long, and how they are refused."""

from collections import Counter
from urllib.parse import urlencode

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError, OAuthError

from meta.process.failed_attempts import HOST_BURST
from meta.roles import Role
from meta.v1.operations_pb2 import RevokeAccessTokenRequest
from segplane.gateway.http.readers import TRUST_SECS
from tests.support.gateway.readers import (
    GATEWAY_TOKEN,
    OWN,
    TABLES,
    calls_of,
    gateway,
    guard,
    limited,
    shown,
)
from tests.support.gateway.server import GatewayServer
from tests.support.meta.guarded import GuardedServer, ended_access_tokens
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

__all__ = ["gateway", "guard", "limited"]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OAUTH = "iceberg/v1/oauth/tokens"


@pytest.mark.long
def test_a_revoked_token_is_refused_within_five_seconds(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    token = guard.token(Role.READER)
    headers = shown(token.plaintext_token)
    assert gateway.table("mine", **headers).status == 200
    guard.admin.operations.RevokeAccessToken(RevokeAccessTokenRequest(token_id=token.token.id))

    secs = wait_until(
        lambda: gateway.table("mine", **headers).status == 401, "it is refused", poll_secs=0.2
    )

    # Beside what a slow machine adds to the last answer.
    assert secs < 3.0 + TRUST_SECS + 3.0


def test_unknown_revoked_and_expired_tokens_are_refused_alike(
    guard: GuardedServer, gateway: GatewayServer, database_url: str
) -> None:
    ended = ended_access_tokens(guard, database_url)
    answers = [gateway.table("mine", **shown(one)) for one in (*ended.values(), "x", "segp_x")]
    answers.append(gateway.table("mine"))

    assert {(one.status, one.json["error"]["type"]) for one in answers} == {
        (401, "NotAuthorizedException")
    }
    assert len({one.body for one in answers}) == 1


def test_a_host_that_guesses_is_throttled_and_valid_tokens_are_not(
    gateway: GatewayServer, limited: str
) -> None:
    assert gateway.table("mine", **shown(limited)).status == 200
    before = calls_of("GetServerState")

    statuses = Counter(
        gateway.ask("v1/config", **shown(f"segp_guess{number}")).status for number in range(80)
    )

    assert statuses.keys() == {401, 503}
    assert statuses[401] < 2 * HOST_BURST
    assert calls_of("GetServerState") - before <= statuses[401]
    assert gateway.table("mine", **shown(limited)).status == 200
    assert gateway.table("mine", **OWN).status == 200


def test_a_role_that_may_not_read_is_refused_in_a_sentence(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    token = guard.token(Role.INGEST).plaintext_token

    with pytest.raises(ForbiddenError, match="the role ingest may not read tables"):
        load_catalog("ingest", type="rest", uri=gateway.uri, token=token)


def test_a_gateway_that_is_limited_itself_shows_nobody_more(
    guard: GuardedServer, limited: str
) -> None:
    token = guard.token(Role.GATEWAY, "of other", dataset_names=["other"]).plaintext_token
    server = GatewayServer(guard.address, token, auth_token=GATEWAY_TOKEN)
    try:
        assert server.ask(TABLES, **shown(limited)).json == {"identifiers": []}
        assert server.table("mine", **shown(limited)).status == 404
        every = guard.token(Role.READER, "every").plaintext_token
        assert server.table("mine", **shown(every)).status == 404
        assert server.table("other", **shown(every)).status == 200
    finally:
        server.close()


def test_a_meta_that_asks_for_no_token_opens_no_guarded_catalog(meta_server: MetaServer) -> None:
    server = GatewayServer(meta_server.address, auth_token=GATEWAY_TOKEN)
    try:
        for token in ("other", "segp_unknown", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"):
            assert server.ask("v1/config", **shown(token)).status == 401
        assert server.ask("v1/config", **OWN).status == 200
    finally:
        server.close()


def test_pyiceberg_logs_in_with_a_credential(gateway: GatewayServer, limited: str) -> None:
    for credential in (f"team-a:{limited}", limited):
        catalog = load_catalog("o", type="rest", uri=gateway.uri, credential=credential)
        assert catalog.load_table("default.mine").scan().to_arrow().num_rows == 1
    own = load_catalog("own", type="rest", uri=gateway.uri, credential=f"x:{GATEWAY_TOKEN}")
    assert own.load_table("default.other").scan().to_arrow().num_rows == 2

    with pytest.raises(OAuthError, match="set `credential` in the catalog's properties"):
        load_catalog("guess", type="rest", uri=gateway.uri, credential="a:segp_guess")


def test_a_catalog_gives_a_token_for_a_basic_header_and_for_itself(
    gateway: GatewayServer, limited: str
) -> None:
    import base64

    basic = base64.b64encode(f"a:{limited}".encode()).decode()
    grant = urlencode({"grant_type": "client_credentials", "scope": "catalog"}).encode()
    given = gateway.post(OAUTH, grant, **FORM, Authorization=f"Basic {basic}")
    exchange = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": limited,
    }
    exchanged = gateway.post(OAUTH, urlencode(exchange).encode(), **FORM)

    assert given.headers["cache-control"] == "no-store"
    assert given.json["scope"] == "catalog"
    for answer in (given, exchanged):
        assert answer.json["access_token"] == limited
        assert (answer.json["token_type"], answer.json["expires_in"]) == ("bearer", 3_600)
    for body, status, error in (
        (b"", 400, "unsupported_grant_type"),
        (b"grant_type=password", 400, "unsupported_grant_type"),
        (b"grant_type=client_credentials", 401, "invalid_client"),
        (b"grant_type=client_credentials&client_secret=%ff", 401, "invalid_client"),
    ):
        refused = gateway.post(OAUTH, body, **FORM)
        assert (refused.status, refused.json["error"]) == (status, error)
    assert gateway.post(OAUTH, b"a=b&" * 100, **FORM).status == 400
    assert gateway.post(OAUTH, b"\xff", **FORM).status == 400
