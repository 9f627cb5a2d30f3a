"""The console behind HAProxy with TLS, at a path that the proxy keeps or removes."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from meta.config import Settings
from meta.roles import Role
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.http.public_url import parse_public_url
from segplane.stack.preflight import claim_ports
from tests.support.certificates import Authority
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.web_client import WebClient
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.haproxy import HAPROXY, serving

HOST, PATH = "segplane.example.com", "/observe"
# The setting of a proxy that removes the path, and of one that keeps it.
RULES = {
    "removed": "http-request replace-path /observe(/)?(.*) /\\2",
    "kept": "",
}
CONFIGURATION = """
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
frontend people
    bind 127.0.0.1:{port} ssl crt {certificate}
    option forwardfor
    use_backend console if {{ path_beg {path}/ }} || {{ path {path} }}
backend console
    {rule}
    server gateway 127.0.0.1:{gateway}
"""

pytestmark = pytest.mark.skipif(HAPROXY is None, reason="needs haproxy: apt-get install haproxy")


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        CatalogDriver(running.admin).dataset("web")
        yield running


@pytest.fixture(params=RULES)
def browser(
    request: pytest.FixtureRequest, guard: GuardedServer, query_pool: SharedPool, tmp_path: Path
) -> Iterator[WebClient]:
    port = claim_ports({"haproxy": 0})["haproxy"]
    host = f"{HOST}:{port}"
    token = guard.token(Role.GATEWAY).plaintext_token
    public_url = parse_public_url(f"https://{host}{PATH}")
    settings = ConsoleSettings(True, ("k" * 32,), public_url=public_url)
    gateway = GatewayServer(
        guard.address,
        token,
        pool=query_pool,
        meta_auth_token=token,
        auth_token="of-the-gateway",
        console=settings,
    )
    authority = Authority(tmp_path)
    files = authority.issue(HOST)
    certificate = tmp_path / "both.pem"
    certificate.write_bytes(files.cert.read_bytes() + files.key.read_bytes())
    text = CONFIGURATION.format(
        port=port,
        certificate=certificate,
        path=PATH,
        rule=RULES[request.param],
        gateway=gateway.port,
    )
    tls = ssl.create_default_context(cafile=str(authority.ca_file))
    with serving(tmp_path, text, port):
        yield WebClient(port, host, f"https://{host}", tls=tls)
    gateway.close()


def test_a_person_logs_in_looks_and_logs_out(guard: GuardedServer, browser: WebClient) -> None:
    for address in (PATH, f"{PATH}/", f"{PATH}/ui"):
        assert browser.get(address).location == f"{PATH}/ui/", address
    assert browser.get(f"{PATH}/ui/?q=a").location == f"{PATH}/ui/login"
    page = browser.get(f"{PATH}/ui/login")
    assert f'action="{PATH}/ui/login"' in page.text
    assert all("Secure" in text and "Path=/;" in text for text in page.cookies())

    token = guard.token(Role.READER).plaintext_token
    fields = {"form_token": page.form_token, "token": token}
    assert browser.post(f"{PATH}/ui/login", fields, Origin="https://evil.example").status == 403
    opened = browser.post(f"{PATH}/ui/login", fields)

    assert opened.location == f"{PATH}/ui/?q=a"
    shown = browser.get(opened.location)
    assert (shown.status, "web" in shown.text) == (200, True)
    assert browser.get(f"{PATH}/v1/datasets").status == 401
    assert browser.post(f"{PATH}/ui/logout", {}).status == 403


def test_a_foreign_name_gets_nothing_from_the_console(browser: WebClient) -> None:
    assert browser.get(f"{PATH}/ui/", Host="evil.example").status == 421
    assert browser.get(f"{PATH}/healthz", Host="balancer.example").status == 200
