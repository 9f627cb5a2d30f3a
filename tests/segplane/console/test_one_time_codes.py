"""One-time codes, which open the console for a person on the gateway's machine."""

import asyncio
import re
import time
from collections.abc import Iterator

import pytest
from starlette.requests import Request

from meta.secrets import keyed_digest
from segplane.gateway.console.sessions.codes import (
    CODE_SECS,
    SPENT_MAX,
    OneTimeCodes,
    make_code,
)
from segplane.gateway.console.sessions.visitors import SessionVisitors
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.console.templating import Templates
from segplane.gateway.http.callers import OwnTokens
from segplane.gateway.http.public_url import parse_public_url
from segplane.gateway.http.readers import CatalogReaders
from segplane.gateway.http.refusals import NotNow
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.web_client import WebClient
from tests.support.meta.server import MetaServer

KEY, OTHER = "k" * 32, "o" * 32
NOW = 1_800_000_000.0


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server(meta_server: MetaServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    running = GatewayServer(
        meta_server.address, pool=query_pool, console=ConsoleSettings(True, (KEY,))
    )
    yield running
    running.close()


def address(port: int, key: str = KEY, now: float | None = None) -> str:
    return f"/ui/login?code={make_code(key, port, time.time() if now is None else now)}"


def test_a_code_opens_the_console_with_the_gateways_rights(
    server: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=1)
    browser = WebClient(server.port)
    assert browser.get("/ui/").location == "/ui/login"

    opened = browser.get(address(server.port))

    assert (opened.status, opened.location) == (303, "/ui/")
    assert b"code" not in opened.body
    page = browser.get("/ui/")
    assert (page.status, "web" in page.text) == (200, True)


@pytest.mark.parametrize("has_changes", [False, True])
def test_pages_know_whose_rights_they_use_and_whether_they_may_change(
    server: GatewayServer, meta_server: MetaServer, has_changes: bool
) -> None:
    browser = WebClient(server.port)
    browser.get(address(server.port))
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    scope = {
        "type": "http",
        "headers": [(b"cookie", cookies.encode())],
        "server": ("127.0.0.1", server.port),
    }
    readers = CatalogReaders(meta_server.client, OwnTokens(""))
    settings = ConsoleSettings(True, (KEY,), has_changes)

    viewer = asyncio.run(SessionVisitors(settings, readers, Templates()).find(Request(scope)))

    assert (viewer.uses_gateway_rights, viewer.may_change) == (True, has_changes)
    assert (viewer.caller.token, len(viewer.form_token)) == ("", 64)


def test_a_code_is_good_for_one_use(server: GatewayServer) -> None:
    code = address(server.port)
    assert WebClient(server.port).get(code).status == 303

    second = WebClient(server.port)
    refused = second.get(code)

    assert refused.status == 403
    assert "segplane console" in refused.text
    assert second.get("/ui/").status == 303


def test_a_code_opens_no_public_console(meta_server: MetaServer) -> None:
    settings = ConsoleSettings(True, (KEY,), public_url=parse_public_url("https://a.example"))
    server = GatewayServer(meta_server.address, console=settings)
    try:
        assert WebClient(server.port, "a.example").get(address(server.port)).status == 403
    finally:
        server.close()


def test_a_code_holds_for_ten_minutes() -> None:
    clock = Clock()
    codes = OneTimeCodes((OTHER, KEY), clock)
    first, second = make_code(KEY, 1, NOW), make_code(KEY, 1, NOW)

    clock.now = NOW + CODE_SECS - 1
    assert codes.spend(first, 1)
    clock.now = NOW + CODE_SECS
    assert not codes.spend(second, 1)


def test_a_code_of_another_time_port_or_key_is_refused() -> None:
    codes = OneTimeCodes((KEY,), Clock())
    issued_at, random, digest = make_code(KEY, 1, NOW).split(".")
    refused = [
        make_code(KEY, 2, NOW),
        make_code(OTHER, 1, NOW),
        make_code(KEY, 1, NOW + 60),
        f"{int(issued_at) + 1}.{random}.{digest}",
        f"{issued_at}.{'0' * 32}.{digest}",
        f"{issued_at}.{random}.{digest}\n",
        f"{issued_at}.{random}.{keyed_digest(KEY.encode(), b'other').hex()}",
        "",
        "..",
        "9" * 5_000,
    ]

    assert [code for code in refused if codes.spend(code, 1)] == []
    assert codes.spend(f"{issued_at}.{random}.{digest}", 1)


def test_a_code_from_before_the_start_is_refused() -> None:
    clock = Clock()
    code = make_code(KEY, 1, NOW)
    clock.now = NOW + 1

    assert not OneTimeCodes((KEY,), clock).spend(code, 1), "it may have been used then"


def test_used_codes_are_remembered_in_bounds_until_they_end() -> None:
    clock = Clock()
    codes = OneTimeCodes((KEY,), clock)
    used = [make_code(KEY, 1, NOW) for _ in range(SPENT_MAX)]
    assert all(codes.spend(code, 1) for code in used)

    assert not any(codes.spend(code, 1) for code in used)
    with pytest.raises(NotNow, match="1000 codes"):
        codes.spend(make_code(KEY, 1, NOW), 1)
    clock.now = NOW + CODE_SECS
    assert codes.spend(make_code(KEY, 1, clock.now), 1)


def test_codes_and_tokens_are_in_no_log(
    server: GatewayServer, capfd: pytest.CaptureFixture[str]
) -> None:
    browser = WebClient(server.port)
    code = address(server.port)
    hostile = "%0d%0aSet-Cookie:%20a=b%1b%5b31m"
    browser.get(code)
    browser.get(code)
    for path in (
        f"/ui/login?code={hostile}",
        f"/ui/{hostile}?q=private{hostile}",
        "/ui/?q=private",
    ):
        answer = browser.get(path)
        assert not re.search(r"[\r\n\x1b]", "".join(answer.headers.values())), path
    visit = browser.get("/ui/login")
    fields = {"form_token": visit.form_token, "token": "private\r\n\x1b[31m"}
    assert browser.post("/ui/login", fields).status == 401
    browser.post("/ui/login", {**fields, "form_token": "private\r\n\x1b[31m"})

    text = "".join(capfd.readouterr())
    assert not any(word in text for word in ("private", "Set-Cookie", code.partition("=")[2]))
