"""Login by an issuer: authorization code with PKCE, renewal of the session, and its end."""

import base64
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import pytest

from meta.config import Settings
from meta.identities import Oidc, RoleRule
from meta.roles import Role
from segplane.gateway.console.sessions.sealing import Sealer
from segplane.gateway.console.sessions.session import LOGIN_SECS, SESSION_SECS, LoginAttempt
from segplane.gateway.console.settings import ConsoleSettings, OidcSettings
from segplane.gateway.http.public_url import parse_public_url
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.web_client import WebAnswer, WebClient
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.issuer import AUDIENCE, Issuer

KEY, HOST, PATH = "k" * 32, "segplane.example.com", "/observe"
SESSION, ATTEMPT = "__Host-segplane", "__Host-segplane-issuer-1"


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None

    def http_error_303(self, *arguments: object) -> object:
        return arguments[1]


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


@pytest.fixture
def guard(meta_settings: Settings, issuer: Issuer) -> Iterator[GuardedServer]:
    oidc = Oidc(issuer.url, AUDIENCE, (RoleRule("ro", Role.READER),))
    with guarded(replace(meta_settings, oidc=oidc)) as running:
        yield running


@pytest.fixture
def server(guard: GuardedServer, issuer: Issuer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    oidc = OidcSettings(issuer.url, client_secret="s3cret&more")
    public_url = parse_public_url(f"https://{HOST}{PATH}")
    running = GatewayServer(
        guard.address,
        token,
        pool=query_pool,
        meta_auth_token=token,
        auth_token="of-the-gateway",
        console=ConsoleSettings(True, (KEY,), public_url=public_url, oidc=oidc),
    )
    yield running
    running.close()


@pytest.fixture
def browser(server: GatewayServer) -> WebClient:
    return browser_of(server)


def browser_of(server: GatewayServer) -> WebClient:
    return WebClient(server.port, HOST, f"https://{HOST}")


def consent(browser: WebClient) -> str:
    """Go to the issuer; return the path at the console to which it leads."""
    there = browser.get("/ui/login/issuer", Sec_Fetch_Site="same-origin").location
    with build_opener(_NoRedirects).open(there, timeout=20) as reply:
        back = str(reply.headers["Location"])
    assert back.startswith(f"https://{HOST}{PATH}/ui/login/callback?")
    return back.removeprefix(f"https://{HOST}{PATH}")


def come_back(browser: WebClient, path: str) -> WebAnswer:
    site = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    return browser.get(path, Sec_Fetch_Dest="document", **site)


def held(browser: WebClient) -> dict[str, object]:
    fields = Sealer([KEY]).open(SESSION, browser.cookies[SESSION])
    assert fields is not None
    return dict(fields)


def way_back_of(page: WebAnswer) -> str:
    """Return the field of a renewal that leads back."""
    match = re.search('name="way_back" value="([^"]+)"', page.text)
    assert match is not None, page.text
    return match[1]


def with_ended_token(browser: WebClient) -> str:
    """Let the token of the session end; return the token of its forms."""
    fields = held(browser) | {"token_ends_at": time.time() - 1}
    browser.cookies[SESSION] = Sealer([KEY]).seal(SESSION, fields)  # type: ignore[arg-type]
    return Sealer([KEY]).form_tokens(str(fields["id"]))[0]


def test_a_person_logs_in_at_the_issuer_and_comes_back(issuer: Issuer, browser: WebClient) -> None:
    assert browser.get("/ui/?q=a").location == f"{PATH}/ui/login"
    assert f'href="{PATH}/ui/login/issuer"' in browser.get("/ui/login").text

    opened = come_back(browser, consent(browser))

    assert (opened.status, opened.location) == (303, f"{PATH}/ui/?q=a")
    assert list(browser.cookies) == [SESSION]
    assert browser.get("/ui/").status == 200
    (asked,) = issuer.codes.requests
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert base64.b64encode(b"segplane:s3cret%26more").decode() in "".join(issuer.secrets)
    session = held(browser)
    assert SESSION_SECS - 60 < float(str(session["ends_at"])) - time.time() <= SESSION_SECS
    assert session["refresh_token"] in issuer.devices.refresh_tokens


def test_a_callback_is_taken_from_the_browser_that_began(
    server: GatewayServer, browser: WebClient
) -> None:
    path = consent(browser)
    stranger = browser_of(server)
    assert come_back(stranger, path).status == 403
    consent(stranger)
    assert come_back(stranger, path).status == 403, "it has an attempt of its own"
    assert SESSION not in stranger.cookies

    begun = dict(browser.cookies)
    assert come_back(browser, path).status == 303
    browser.cookies = begun
    again = come_back(browser, path)
    assert (again.status, SESSION in browser.cookies) == (403, False), "the code is used up"


def test_an_attempt_holds_for_ten_minutes(browser: WebClient) -> None:
    path = consent(browser)
    state = dict(parse_qsl(urlsplit(path).query))["state"]
    for left_secs, status in ((-1.0, 403), (LOGIN_SECS, 403), (LOGIN_SECS - 60, 403)):
        attempt = LoginAttempt(state, "nonce", "verifier", "/ui/", time.time() + left_secs)
        browser.cookies = {ATTEMPT: Sealer([KEY]).seal(ATTEMPT, attempt.fields())}
        answer = come_back(browser, path)
        assert answer.status == status
        assert ("more than ten minutes ago" in answer.text) == (left_secs < 0)
    assert SESSION not in browser.cookies, "and the verifier is checked by the issuer"


def test_three_attempts_are_kept_at_a_time(browser: WebClient) -> None:
    paths = [consent(browser) for _ in range(4)]
    attempts = [name for name in browser.cookies if "-issuer-" in name]

    assert len(attempts) == 3
    assert come_back(browser, paths[0]).status == 403, "the oldest one gave way"
    assert come_back(browser, paths[1]).status == 303
    assert come_back(browser, paths[3]).status == 303


def test_a_login_does_not_begin_at_another_site(browser: WebClient) -> None:
    site = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    answer = browser.get("/ui/login/issuer", Sec_Fetch_Dest="document", **site)

    assert (answer.status, answer.location) == (200, "")
    assert not [name for name in browser.cookies if "-issuer-" in name]


@pytest.mark.parametrize(
    ("answers", "claims", "sentence"),
    [
        ({"iss": "https://evil.example"}, {}, "of another issuer"),
        ({}, {"nonce": "another"}, "ID token is not valid"),
        ({}, {"nonce": None}, "ID token is not valid"),
        ({}, {"aud": "another"}, "ID token is not valid"),
        ({}, {"iss": "https://evil.example"}, "ID token is not valid"),
        ({}, {"exp": 1}, "ID token is not valid"),
    ],
)
def test_an_answer_that_is_not_for_this_login_is_refused(
    issuer: Issuer,
    browser: WebClient,
    answers: dict[str, str],
    claims: dict[str, object],
    sentence: str,
) -> None:
    issuer.codes.answers, issuer.codes.claims = answers, claims

    refused = come_back(browser, consent(browser))

    assert (refused.status, sentence in refused.text) == (403, True)
    assert SESSION not in browser.cookies


def test_a_refusal_of_the_issuer_is_shown(issuer: Issuer, browser: WebClient) -> None:
    issuer.codes.refusal = "access_denied<b>"

    refused = come_back(browser, consent(browser))

    assert (refused.status, "access_denied&lt;b&gt;" in refused.text) == (403, True)


def test_an_issuer_that_is_away_is_no_login(issuer: Issuer, browser: WebClient) -> None:
    path = consent(browser)
    issuer.stop()
    try:
        assert come_back(browser, path).status == 503
    finally:
        issuer.start()


def test_an_ended_token_is_renewed_and_leads_back(issuer: Issuer, browser: WebClient) -> None:
    come_back(browser, consent(browser))
    before = held(browser)
    form_token = with_ended_token(browser)

    page = browser.get("/ui/?q=later")
    assert (page.status, page.form_token) == (200, form_token)
    assert f'action="{PATH}/ui/session/renew"' in page.text
    assert browser.post("/ui/session/renew", {}).status == 403
    assert list(browser.cookies) == [SESSION], "another cookie could be one too much for a proxy"
    fields = {"form_token": form_token, "way_back": way_back_of(page)}
    renewed = browser.post("/ui/session/renew", fields)

    assert (renewed.status, renewed.location) == (303, f"{PATH}/ui/?q=later")
    assert "data-session-secs" in browser.get("/ui/?q=later").text
    after = held(browser)
    assert after["refresh_token"] != before["refresh_token"]
    assert (after["id"], after["ends_at"]) == (before["id"], before["ends_at"])
    assert len(issuer.codes.requests) == 1


def test_the_way_back_of_a_renewal_is_the_console_s_own(browser: WebClient) -> None:
    come_back(browser, consent(browser))
    fields = {"form_token": with_ended_token(browser), "way_back": "/ui/evil"}

    assert browser.post("/ui/session/renew", fields).location == f"{PATH}/ui/"


def test_six_tabs_renew_at_once_with_one_use_of_the_refresh_token(
    issuer: Issuer, server: GatewayServer, browser: WebClient
) -> None:
    come_back(browser, consent(browser))
    form_token = with_ended_token(browser)
    answers = []

    def renew() -> None:
        tab = WebClient(server.port, HOST, f"https://{HOST}", dict(browser.cookies))
        fields = {"form_token": form_token}
        answers.append(tab.post("/ui/session/renew", fields, Sec_Fetch_Mode="cors"))

    tabs = [threading.Thread(target=renew) for _ in range(6)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join(30)

    assert [answer.status for answer in answers] == [204] * 6
    assert all(int(answer.headers["session-secs"]) > 0 for answer in answers)
    used = [form for form in issuer.devices.forms if form.get("grant_type") == "refresh_token"]
    assert len(used) == 1
    assert issuer.devices.refresh_tokens, "an issuer that detects reuse would have ended all"


def test_a_session_whose_renewal_is_refused_leads_to_the_login(
    issuer: Issuer, browser: WebClient
) -> None:
    come_back(browser, consent(browser))
    form_token = with_ended_token(browser)
    issuer.devices.refresh_tokens.clear()
    way_back = way_back_of(browser.get("/ui/?q=later"))

    refused = browser.post("/ui/session/renew", {"form_token": form_token, "way_back": way_back})

    assert (refused.status, "invalid_grant" in refused.text) == (403, True)
    assert SESSION not in browser.cookies
    assert come_back(browser, consent(browser)).location == f"{PATH}/ui/?q=later"


def test_a_logout_revokes_the_refresh_token_and_goes_to_the_issuer(
    issuer: Issuer, browser: WebClient
) -> None:
    come_back(browser, consent(browser))
    form_token = Sealer([KEY]).form_tokens(str(held(browser)["id"]))[0]

    gone = browser.post("/ui/logout", {"form_token": form_token})

    assert (gone.status, SESSION in browser.cookies) == (200, False)
    assert gone.headers["refresh"].startswith(f"0; url={issuer.url}/logout?client_id=segplane")
    assert gone.headers["clear-site-data"] == '"cache", "storage"'
    assert issuer.devices.refresh_tokens == set()
