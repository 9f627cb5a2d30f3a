"""Login by a pasted access token, the session that it gives, and logout."""

import time
from base64 import b85encode
from collections.abc import Iterator
from dataclasses import replace

import pytest

from meta.config import Settings
from meta.identities import Oidc, RoleRule
from meta.process.failed_attempts import HOST_BURST
from meta.roles import Role
from meta.secrets import random_bytes
from meta.v1 import operations_pb2 as pb
from segplane.gateway.console.policy import ADDRESS_BYTES_MAX
from segplane.gateway.console.sessions.sealing import Sealer
from segplane.gateway.console.sessions.session import LOGIN_SECS, SESSION_SECS, LoginVisit, Session
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.http.public_url import parse_public_url
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.web_client import WebAnswer, WebClient
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.issuer import AUDIENCE, Issuer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

KEY, HOST = "k" * 32, "segplane.example.com"
PUBLIC = ConsoleSettings(True, (KEY,), public_url=parse_public_url(f"https://{HOST}"))
SESSION, VISIT = "__Host-segplane", "__Host-segplane-login"


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        catalog = CatalogDriver(running.admin)
        for name in ("mine", "other"):
            catalog.dataset(name)
        yield running


@pytest.fixture
def server(guard: GuardedServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    running = GatewayServer(
        guard.address,
        token,
        pool=query_pool,
        meta_auth_token=token,
        auth_token="of-the-gateway",
        console=PUBLIC,
    )
    yield running
    running.close()


@pytest.fixture
def browser(server: GatewayServer) -> WebClient:
    return browser_of(server)


def browser_of(server: GatewayServer) -> WebClient:
    return WebClient(server.port, HOST, f"https://{HOST}")


def log_in(browser: WebClient, token: str, **headers: str) -> WebAnswer:
    form_token = browser.get("/ui/login").form_token
    return browser.post("/ui/login", {"form_token": form_token, "token": token}, **headers)


def reader(guard: GuardedServer, *datasets: str) -> pb.CreateAccessTokenResponse:
    return guard.token(Role.READER, f"ann {datasets}", dataset_names=datasets)


def test_a_person_sees_what_its_token_may_see_and_comes_back(
    guard: GuardedServer, browser: WebClient
) -> None:
    address = "/ui/?q=a%20b&to=now"
    assert browser.get(address).location == "/ui/login"

    opened = log_in(browser, reader(guard, "mine").plaintext_token)

    assert (opened.status, opened.location) == (303, address)
    page = browser.get(address)
    assert page.status == 200
    assert "mine" in page.text
    assert "other" not in page.text
    assert list(browser.cookies) == [SESSION]


def test_the_way_back_is_never_a_parameter(guard: GuardedServer, browser: WebClient) -> None:
    token = reader(guard).plaintext_token
    form_token = browser.get("/ui/login?back=/ui/evil&next=https://evil.example").form_token
    fields = {"form_token": form_token, "token": token, "way_back": "https://evil.example"}

    assert browser.post("/ui/login?way_back=//evil.example", fields).location == "/ui/"


def test_a_search_of_4_kib_is_come_back_to(guard: GuardedServer, browser: WebClient) -> None:
    text = b85encode(random_bytes(ADDRESS_BYTES_MAX)).decode()
    # Characters that a redirect does not escape.
    text = "".join(character for character in text if character.isalnum() or character in "-_~!")
    address = f"/ui/?q={text}"[: ADDRESS_BYTES_MAX + 1]
    browser.get(address)

    assert log_in(browser, reader(guard).plaintext_token).location == address


@pytest.mark.parametrize(
    "token",
    [
        "of-the-gateway",
        "shared-secret-of-nobody",
        "segp_unknown",
        "",
        "two words",
        "é",
        "x" * 9_000,
    ],
)
def test_what_is_no_token_of_a_person_is_refused(browser: WebClient, token: str) -> None:
    refused = log_in(browser, token)

    assert refused.status == 401
    assert SESSION not in browser.cookies
    assert not token or token not in refused.text


def test_a_role_that_may_not_read_comes_to_the_login(
    guard: GuardedServer, browser: WebClient
) -> None:
    refused = log_in(browser, guard.token(Role.INGEST).plaintext_token)

    assert (refused.status, "the role ingest may not read" in refused.text) == (403, True)
    assert SESSION not in browser.cookies
    lost = Session("1", "ann", time.time() + 600, guard.token(Role.INGEST).plaintext_token)
    browser.cookies = {SESSION: Sealer([KEY]).seal(SESSION, lost.fields())}

    page = browser.get("/ui/?q=a")

    assert (page.status, "the role ingest may not read" in page.text) == (403, True)
    assert list(browser.cookies) == [VISIT]
    assert log_in(browser, reader(guard).plaintext_token).location == "/ui/?q=a"


def test_a_meta_that_asks_for_no_token_gives_nobody_a_session(meta_server: MetaServer) -> None:
    server = GatewayServer(meta_server.address, console=PUBLIC)
    try:
        browser = browser_of(server)
        assert log_in(browser, "anything").status == 401
        assert SESSION not in browser.cookies
    finally:
        server.close()


def test_the_form_is_bound_to_a_cookie_of_the_login_page(
    guard: GuardedServer, server: GatewayServer, browser: WebClient
) -> None:
    token, other = reader(guard).plaintext_token, browser_of(server)
    form_token = browser.get("/ui/login").form_token
    other.get("/ui/login")
    fields = {"form_token": form_token, "token": token}

    assert other.post("/ui/login", fields).status == 403, "of another browser"
    assert browser_of(server).post("/ui/login", fields).status == 403, "without a cookie"
    assert browser.post("/ui/login", {"token": token}).status == 403
    assert browser.post("/ui/login", fields, Origin="https://evil.example").status == 403
    assert browser.post("/ui/login", fields, Content_Type="text/plain").status == 415
    assert SESSION not in browser.cookies
    assert browser.post("/ui/login", fields).status == 303


def test_a_login_page_is_good_for_ten_minutes(guard: GuardedServer, browser: WebClient) -> None:
    now, sealer = time.time(), Sealer([KEY])
    for age_secs, status in ((LOGIN_SECS - 60, 303), (LOGIN_SECS + 1, 403)):
        visit = LoginVisit("1", now - age_secs + LOGIN_SECS)
        browser.cookies = {VISIT: sealer.seal(VISIT, visit.fields())}
        fields = {
            "form_token": sealer.form_tokens("1")[0],
            "token": reader(guard, *["mine"] * (status == 303)).plaintext_token,
        }
        assert browser.post("/ui/login", fields).status == status


def test_a_session_ends_twelve_hours_after_the_login(
    guard: GuardedServer, browser: WebClient
) -> None:
    log_in(browser, reader(guard).plaintext_token)
    fields = Sealer([KEY]).open(SESSION, browser.cookies[SESSION])
    assert fields is not None
    ends_in_secs = float(fields["ends_at"] or 0) - time.time()
    assert SESSION_SECS - 60 < ends_in_secs <= SESSION_SECS

    ended = Session("1", "ann", time.time() - 1, str(fields["token"]))
    browser.cookies = {SESSION: Sealer([KEY]).seal(SESSION, ended.fields())}

    assert browser.get("/ui/?q=x").location == "/ui/login"
    assert list(browser.cookies) == [VISIT]
    part = browser.get("/ui/", Sec_Fetch_Mode="cors", Sec_Fetch_Site="same-origin")
    assert (part.status, "load the page again" in part.text) == (401, True)


@pytest.mark.long
def test_a_revoked_token_ends_the_session(guard: GuardedServer, browser: WebClient) -> None:
    created = reader(guard)
    log_in(browser, created.plaintext_token)
    assert browser.get("/ui/").status == 200

    request = pb.RevokeAccessTokenRequest(token_id=created.token.id)
    guard.admin.operations.RevokeAccessToken(request)

    wait_until(lambda: browser.get("/ui/").location == "/ui/login", "the session has ended")


def test_a_logout_deletes_every_part(guard: GuardedServer, browser: WebClient) -> None:
    log_in(browser, reader(guard).plaintext_token)
    kept = dict(browser.cookies)
    (session_id,) = ((Sealer([KEY]).open(SESSION, kept[SESSION]) or {})["id"],)
    fields = {"form_token": Sealer([KEY]).form_tokens(str(session_id))[0]}
    assert browser.post("/ui/logout", {}).status == 403
    assert browser.get("/ui/logout").status == 405
    assert browser.cookies == kept

    left = browser.post("/ui/logout", fields)

    assert (left.status, left.location) == (303, "/ui/login")
    assert left.headers["clear-site-data"] == '"cache", "storage"'
    deleted = {text.partition("=")[0] for text in left.cookies() if "Max-Age=0" in text}
    assert {SESSION, f"{SESSION}-2", VISIT} <= deleted
    assert browser.cookies == {}
    assert browser.get("/ui/").location == "/ui/login"
    assert browser.post("/ui/logout", {}).status == 303, "without a session it is no change"


def guess(browser: WebClient, forwarded_for: str) -> list[int]:
    """Guess until it is throttled, from more addresses than one; return the kinds of answers."""
    fields, statuses = {"form_token": browser.get("/ui/login").form_token}, []
    for number in range(10 * int(HOST_BURST)):
        fields["token"] = f"segp_{number}"
        address = forwarded_for.format(number)
        statuses.append(browser.post("/ui/login", fields, X_Forwarded_For=address).status)
        if statuses[-1] == 503:
            break
    return sorted(set(statuses))


def test_guesses_are_throttled_by_the_address_of_the_person(
    guard: GuardedServer, browser: WebClient
) -> None:
    token = reader(guard).plaintext_token

    assert guess(browser, "192.0.2.{}, 198.51.100.1") == [401, 503]
    assert log_in(browser, token, X_Forwarded_For="198.51.100.1, 198.51.100.2").status == 303


def test_only_a_trusted_proxy_says_where_a_person_is(guard: GuardedServer) -> None:
    token = guard.token(Role.GATEWAY).plaintext_token
    server = GatewayServer(guard.address, token, console=PUBLIC, trusted_proxies=("192.0.2.0/24",))
    try:
        browser = browser_of(server)
        assert guess(browser, "192.0.2.{}") == [401, 503]
    finally:
        server.close()


def test_cookies_authenticate_the_console_alone(
    guard: GuardedServer, server: GatewayServer, browser: WebClient
) -> None:
    log_in(browser, reader(guard).plaintext_token)
    assert browser.get("/ui/").status == 200

    for path in ("/v1/datasets", "/iceberg/v1/config", "/v1/datasets/mine/preview", "/v1/groups"):
        assert browser.get(path).status == 401, path
    query = {"Content_Type": "application/json", "Origin": f"https://{HOST}"}
    assert browser.send("POST", "/v1/query", b'{"query": "print 1"}', query).status == 401
    assert server.get("v1/datasets", Authorization="Bearer of-the-gateway").status == 200


def test_a_token_that_does_not_fit_is_refused_with_its_largest_claim(
    meta_settings: Settings,
) -> None:
    issuer = Issuer()
    oidc = Oidc(issuer.url, AUDIENCE, (RoleRule("ro", Role.READER),))
    with guarded(replace(meta_settings, oidc=oidc)) as guard:
        token = guard.token(Role.GATEWAY).plaintext_token
        server = GatewayServer(guard.address, token, meta_auth_token=token, console=PUBLIC)
        browser = browser_of(server)
        groups = b85encode(random_bytes(4_400)).decode()

        small = log_in(browser, issuer.token(groups="x"))
        cookies = dict(browser.cookies)
        refused = log_in(browser, issuer.token(groups=groups))

        server.close()
    issuer.stop()
    assert (small.status, refused.status) == (303, 400)
    assert "shorten its claim &#39;groups&#39; at the issuer" in refused.text
    assert browser.cookies[SESSION] == cookies[SESSION]
