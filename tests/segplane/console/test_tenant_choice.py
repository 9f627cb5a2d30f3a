"""The tenant of an address: chosen by people with roles in several, and never left by a link."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from meta.config import Settings
from meta.identities import Oidc, RoleRule
from meta.roles import Role
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.http.public_url import parse_public_url
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.tenants import SharedGateway, shared_gateway
from tests.support.gateway.web_client import WebAnswer, WebClient
from tests.support.meta.issuer import AUDIENCE, Issuer

KEY, HOST = "k" * 32, "segplane.example.com"
CONSOLE = ConsoleSettings(True, (KEY,), public_url=parse_public_url(f"https://{HOST}"))
RULES = tuple(RoleRule("people", Role.TENANT_READER, tenant) for tenant in ("payments", "search"))
_LINKS = re.compile(r'(?:href|action|hx-get)="(/ui/[^"]*)"')


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


@pytest.fixture
def shared(
    meta_settings: Settings, issuer: Issuer, query_pool: SharedPool
) -> Iterator[SharedGateway]:
    settings = replace(meta_settings, oidc=Oidc(issuer.url, AUDIENCE, RULES))
    with shared_gateway(settings, query_pool, CONSOLE) as running:
        yield running


def logged_in(shared: SharedGateway, token: str) -> WebClient:
    browser = WebClient(shared.gateway.port, HOST, f"https://{HOST}")
    form_token = browser.get("/ui/login").form_token
    opened = browser.post("/ui/login", {"form_token": form_token, "token": token})
    assert opened.status == 303, opened.text
    return browser


def links(page: WebAnswer) -> set[str]:
    """Return the addresses of the console on a page, but for those of files."""
    return {link for link in _LINKS.findall(page.text) if "/static/" not in link}


@pytest.mark.long
def test_a_person_of_several_tenants_chooses_one_and_stays_in_it(
    shared: SharedGateway, issuer: Issuer
) -> None:
    browser = logged_in(shared, issuer.token(roles=["people"], sub="ann"))
    address = "dataset?dataset=shop%2Fweb"

    choice = browser.get(f"/ui/{address}")
    assert {f"/ui/@{name}/{address}" for name in ("payments", "search")} <= links(choice)

    for name in ("payments", "search"):
        page = browser.get(f"/ui/@{name}/{address}")
        assert page.status == 200, page.text
        assert shared.datasets[name] in page.text
        assert f"Tenant {name}" in page.text
        assert ">ann<" in page.text
        assert {link.split("/")[2] for link in links(page)} == {f"@{name}"}
        rows = browser.get(f"/ui/@{name}/logs?dataset=shop%2Fweb&from=2000-01-01T00:00:00Z&to=now")
        assert f"of {name}" in rows.text
        assert {link.split("/")[2] for link in links(rows)} == {f"@{name}"}
        copies = browser.get(f"/ui/@{name}/logs/share?dataset=shop%2Fweb")
        assert f"Segplane-Tenant: {name}" in copies.text
    listed = browser.get("/ui/@search/tenants")
    assert {"/ui/@payments/", "/ui/@search/"} <= links(listed)

    # A tenant that does not exist, and one in which the person has no role.
    refusals = {browser.get(f"/ui/@{name}/").status for name in ("default", "nobody", "%0a", "")}
    assert refusals == {404}


@pytest.mark.long
def test_an_operator_opens_any_tenant_and_sees_the_installation_in_none(
    shared: SharedGateway,
) -> None:
    token = shared.tenants.guard.token(Role.OPERATOR_READ).plaintext_token
    browser = logged_in(shared, token)

    listed = browser.get("/ui/tenants")
    assert {"/ui/@payments/", "/ui/@search/", "/ui/pipeline"} <= links(listed)
    page = browser.get("/ui/@payments/")
    assert "shop/web" in page.text
    assert "/ui/@payments/pipeline" not in links(page)
    by_id = browser.get(f"/ui/@{shared.tenant_ids['search']}/dataset?dataset=shop%2Fweb")
    assert shared.datasets["search"] in by_id.text

    ended = WebClient(shared.gateway.port, HOST, f"https://{HOST}").get("/ui/@search/logs?q=x")
    assert ended.location == "/ui/login"


def test_a_person_of_one_tenant_needs_no_choice(shared: SharedGateway) -> None:
    browser = logged_in(shared, shared.tokens["payments"])

    page = browser.get("/ui/")
    assert "shop/web" in page.text
    assert not any("@" in link for link in links(page))
    assert browser.get("/ui/@search/").status == 404
