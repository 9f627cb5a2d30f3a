"""Sessions at npm's oidc-provider, which rotates refresh tokens and ends a login at their reuse."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from meta.config import Settings
from meta.identities import Oidc, RoleRule
from meta.roles import Role
from segplane.gateway.console.sessions.sealing import Sealer
from segplane.gateway.console.settings import ConsoleSettings, OidcSettings
from segplane.gateway.http.public_url import parse_public_url
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.web_client import WebClient
from tests.support.issuer.running import IssuerPage, running_issuer
from tests.support.meta.guarded import guarded

KEY, SECRET, HOST, PATH = "k" * 32, "secret of the console", "segplane.example.com", "/observe"
PUBLIC = f"https://{HOST}{PATH}"
SESSION = "__Host-segplane"
TABS, ROUNDS = 6, 12

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Consoles:
    """Two gateways behind one URL, and the issuer of their people."""

    issuer: str
    gateways: list[GatewayServer]

    def browser(self, number: int = 0, cookies: dict[str, str] | None = None) -> WebClient:
        """Return a browser, or a further tab of one, whose requests reach a gateway."""
        port = self.gateways[number].port
        return WebClient(port, HOST, f"https://{HOST}", {} if cookies is None else cookies)


@pytest.fixture
def consoles(meta_settings: Settings, query_pool: SharedPool, tmp_path: Path) -> Iterator[Consoles]:
    with running_issuer(tmp_path, PUBLIC, SECRET) as issuer:
        trusted = Oidc(issuer, "segplane", (RoleRule("ro", Role.READER),))
        with guarded(replace(meta_settings, oidc=trusted)) as guard:
            token = guard.token(Role.GATEWAY).plaintext_token
            oidc = OidcSettings(issuer, client_secret=SECRET, shows_id_token=True)
            settings = ConsoleSettings(True, (KEY,), public_url=parse_public_url(PUBLIC), oidc=oidc)
            gateways = [
                GatewayServer(
                    guard.address,
                    token,
                    pool=query_pool,
                    meta_auth_token=token,
                    auth_token="of-the-gateway",
                    console=settings,
                )
                for _ in range(2)
            ]
            yield Consoles(issuer, gateways)
            for gateway in gateways:
                gateway.close()


def log_in(browser: WebClient, person: IssuerPage) -> None:
    browser.get("/ui/?q=a")
    there = browser.get("/ui/login/issuer").location
    back = person.consent(there, PUBLIC).removeprefix(PUBLIC)
    assert browser.get(back).location == f"{PATH}/ui/?q=a"


def end_token(cookies: dict[str, str]) -> str:
    """Let the token of a session end; return the token of its forms."""
    parts = [cookies[name] for name in (SESSION, f"{SESSION}-2") if name in cookies]
    fields = Sealer([KEY]).open(SESSION, "".join(parts))
    assert fields is not None
    cookies[SESSION] = Sealer([KEY]).seal(SESSION, {**fields, "token_ends_at": time.time() - 1})
    return Sealer([KEY]).form_tokens(str(fields["id"]))[0]


def test_six_tabs_at_two_gateways_need_no_second_login_in_an_hour(consoles: Consoles) -> None:
    person, browser = IssuerPage(), consoles.browser()
    log_in(browser, person)

    for number in range(ROUNDS):
        # A token of five minutes ends; the tabs that find it so come at once.
        form_token = end_token(browser.cookies)
        answers: list[int] = []
        tabs = [consoles.browser(number % 2, dict(browser.cookies)) for _ in range(TABS)]

        def renew(tab: WebClient, answers: list[int], form_token: str) -> None:
            fields = {"form_token": form_token}
            answers.append(tab.post("/ui/session/renew", fields, Sec_Fetch_Mode="cors").status)

        threads = [threading.Thread(target=renew, args=(tab, answers, form_token)) for tab in tabs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert answers == [204] * TABS, f"round {number}"
        browser.cookies = dict(tabs[-1].cookies)
        for gateway in range(2):
            assert consoles.browser(gateway, browser.cookies).get("/ui/").status == 200

    assert person.logins == 1


def test_a_refresh_token_that_is_used_elsewhere_ends_the_session(consoles: Consoles) -> None:
    person, browser = IssuerPage(), consoles.browser()
    log_in(browser, person)
    form_token = end_token(browser.cookies)
    thief = consoles.browser(1, dict(browser.cookies))

    assert browser.post("/ui/session/renew", {"form_token": form_token}).status == 303
    assert thief.post("/ui/session/renew", {"form_token": form_token}).status == 403
    # The issuer has noticed, and ends the login of both.
    form_token = end_token(browser.cookies)
    assert browser.post("/ui/session/renew", {"form_token": form_token}).status == 403
    assert SESSION not in browser.cookies


def test_a_logout_ends_the_session_at_the_issuer_too(consoles: Consoles) -> None:
    person, browser = IssuerPage(), consoles.browser()
    log_in(browser, person)
    kept = dict(browser.cookies)
    fields = {"form_token": end_token(browser.cookies)}

    gone = browser.post("/ui/logout", fields)

    assert gone.headers["refresh"].startswith(f"0; url={consoles.issuer}/session/end?")
    page = person.session.get(gone.headers["refresh"].partition("url=")[2], timeout=20)
    assert page.status_code == 200
    assert "Do you want to sign-out" in page.text
    copied = consoles.browser(1, kept)
    copied.post("/ui/session/renew", {"form_token": end_token(kept)})
    assert copied.get("/ui/").location == f"{PATH}/ui/login", "the refresh token is revoked"
