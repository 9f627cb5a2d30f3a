"""Browser policy of the console: hosts, sites, origins, headers and the length of addresses."""

from collections.abc import Iterator

import pytest

from segplane.gateway.console.policy import ADDRESS_BYTES_MAX
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.http.public_url import parse_public_url
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.visitors import AnyVisitors
from tests.support.gateway.web_client import WebClient
from tests.support.meta.server import MetaServer

PUBLIC = "https://segplane.example.com/observe"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
NAVIGATION = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
SITES: list[tuple[dict[str, str], int]] = [
    ({}, 200),
    ({"Sec_Fetch_Site": "none"}, 200),
    ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors"}, 200),
    ({"Sec_Fetch_Site": "cross-site", **NAVIGATION}, 200),
    ({"Sec_Fetch_Site": "same-site", **NAVIGATION}, 200),
    ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"}, 403),
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}, 403),
    ({"Sec_Fetch_Site": "cross-site", **NAVIGATION, "Sec_Fetch_Dest": "iframe"}, 403),
    ({"Sec_Fetch_Site": "cross-site"}, 403),
    ({"Sec_Fetch_Site": "something-new"}, 403),
]
ORIGINS = [
    ("", "", 403),
    ("null", "", 403),
    ("null", "cross-site", 403),
    ("null", "same-origin", 405),
    ("https://127.0.0.1:{port}", "", 403),
    ("http://127.0.0.1", "", 403),
    ("http://localhost:{port}", "same-origin", 403),
    ("http://127.0.0.1:{port}.evil.example", "", 403),
    ("http://127.0.0.1:{port}", "cross-site", 403),
    ("http://127.0.0.1:{port}", "", 405),
    ("http://127.0.0.1:{port}", "same-origin", 405),
]


@pytest.fixture
def browser(console: GatewayServer) -> WebClient:
    return WebClient(console.port)


@pytest.fixture
def public(meta_server: MetaServer, query_pool: SharedPool) -> Iterator[WebClient]:
    settings = ConsoleSettings(public_url=parse_public_url(PUBLIC))
    server = GatewayServer(
        meta_server.address, pool=query_pool, visitors=AnyVisitors(), console=settings
    )
    yield WebClient(server.port, "segplane.example.com", "https://segplane.example.com")
    server.close()


def test_every_answer_of_the_console_has_the_headers(browser: WebClient) -> None:
    paths = ("/", "/ui", "/ui/", "/ui/nothing", "/ui/%ff", f"/ui/?q={'x' * ADDRESS_BYTES_MAX}")
    answers = [browser.get(path) for path in paths]
    answers += [
        browser.get("/ui/", Host="evil.example"),
        browser.get("/ui/", Sec_Fetch_Site="cross-site"),
        browser.post("/ui/", {}),
        browser.post("/ui/", {}, Origin="https://evil.example"),
    ]

    statuses = [answer.status for answer in answers]
    assert statuses == [303, 303, 200, 404, 404, 414, 421, 403, 405, 403]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        policy = answer.headers["content-security-policy"].split("; ")
        assert "default-src 'none'" in policy
        assert {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} <= set(policy)
        assert not any(word in " ".join(policy) for word in ("unsafe", "*", "http", "data:"))


def test_the_console_of_this_machine_answers_to_loopback_names_alone(browser: WebClient) -> None:
    port = browser.port
    for name in ("localhost", "127.0.0.1", "[::1]", "LocalHost"):
        assert browser.get("/ui/", Host=f"{name}:{port}").status == 200, name
    foreign = ("evil.example", f"evil.example:{port}", "127.0.0.1.nip.io", "localhost:1", "", "a b")
    for host in foreign:
        for path in ("/", "/ui", "/ui/", "/ui/static/x.css"):
            assert browser.get(path, Host=host).status == 421, (host, path)
    assert browser.get("/healthz", Host="evil.example").status == 200


@pytest.mark.parametrize("prefix", ["", "/observe"], ids=["removed by a proxy", "kept by it"])
def test_a_public_console_answers_to_the_host_of_its_url(public: WebClient, prefix: str) -> None:
    assert public.get(f"{prefix}/ui/").status == 200
    assert public.get(f"{prefix}/").location == "/observe/ui/"
    assert public.get(f"{prefix}/ui").location == "/observe/ui/"
    for host in (f"localhost:{public.port}", "127.0.0.1", "example.com", "x.segplane.example.com"):
        assert public.get(f"{prefix}/ui/", Host=host).status == 421, host
    assert public.get(f"{prefix}/healthz", Host="balancer").status == 200
    # Interfaces of programs that ask for no credential answer to local names only.
    assert public.get(f"{prefix}/v1/datasets").status == 421


def test_texts_to_copy_have_the_public_url(browser: WebClient, public: WebClient) -> None:
    assert f"{PUBLIC}/v1/query" in public.get("/ui/logs/share?dataset=web").text
    assert f"{browser.origin}/v1/query" in browser.get("/ui/logs/share?dataset=web").text


def test_a_path_that_only_begins_like_the_public_one_is_not_shortened(public: WebClient) -> None:
    assert public.get("/observed/ui/", Host=f"localhost:{public.port}").status == 404
    assert public.get("/observe").location == "/observe/ui/"


def test_other_sites_may_only_link_to_pages(browser: WebClient) -> None:
    for headers, status in SITES:
        assert browser.get("/ui/", **headers).status == status, headers


def test_a_form_comes_from_the_consoles_own_origin(browser: WebClient) -> None:
    for origin, site, status in ORIGINS:
        headers = {"Origin": origin.format(port=browser.port), "Sec_Fetch_Site": site}

        # A form that is let through finds that the page takes none.
        assert browser.post("/ui/", {}, **headers).status == status, headers


def test_a_public_form_comes_from_the_origin_of_the_url(public: WebClient) -> None:
    assert public.post("/ui/", {}).status == 405
    for origin in ("http://segplane.example.com", "https://segplane.example.com:8443", "null"):
        assert public.post("/ui/", {}, Origin=origin).status == 403, origin


def test_forms_are_for_the_console_alone(browser: WebClient) -> None:
    for path in ("/v1/query", "/v1/ui/", "/uix", "/iceberg/v1/namespaces"):
        assert browser.post(path, {"query": "print 1"}).status == 415, path


def test_an_address_has_at_most_4_kib(browser: WebClient) -> None:
    longest = "/ui/?q=" + "x" * (ADDRESS_BYTES_MAX - len("/ui/?q=") + 1)

    assert browser.get(longest).status == 200
    refused = browser.get(longest + "x")
    assert refused.status == 414
    assert "4,097 bytes, at most 4,096" in refused.text


def test_the_gateway_says_at_its_root_what_answers_here(meta_server: MetaServer) -> None:
    server = GatewayServer(meta_server.address)
    try:
        answer = WebClient(server.port).get("/")
        assert (answer.status, "/v1/openapi.json" in answer.text) == (200, True)
        assert WebClient(server.port).get("/ui/").status == 404
        assert WebClient(server.port).get("/", Host="evil.example").status == 421
    finally:
        server.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://",
        "https://a@example.com",
        "https://example.com/?x=1",
        "https://example.com/a b",
        "https://example.com/../a",
        "https://example.com/ui/",
        "https://example.com:99999",
        "example.com",
    ],
)
def test_a_public_url_is_https_with_a_plain_path(url: str) -> None:
    with pytest.raises(ValueError, match=r"https|plain path|route|Port"):
        parse_public_url(url)


def test_a_public_url_is_written_as_browsers_write_it() -> None:
    url = parse_public_url("https://Example.com:443/a/b/")

    assert (url.origin, url.path) == ("https://example.com", "/a/b")
    assert parse_public_url("https://[2001:db8::1]:8443").origin == "https://[2001:db8::1]:8443"
