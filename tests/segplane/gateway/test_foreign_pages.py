"""Requests that a web page makes a browser send: DNS rebinding, foreign origins, forms."""

import json
from http.client import HTTPConnection
from typing import Any

import pytest

from meta.process.environment import Environment
from meta.process.exits import ConfigError
from segplane.gateway import config
from segplane.gateway.config import Settings
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.server import MetaServer

QUERY = json.dumps({"query": "print 1"}).encode()
JSON = "application/json"
FORM_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "")


def ask(
    gateway: GatewayServer, method: str, path: str, body: bytes = b"", /, **headers: str
) -> Answer:
    """Send a request with exactly these headers, and the length of a body."""
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        reply = connection.getresponse()
        return Answer(reply.status, dict(reply.headers), reply.read())
    finally:
        connection.close()


def test_a_gateway_without_a_credential_answers_to_its_own_names_alone(
    gateway: GatewayServer,
) -> None:
    port = gateway.port
    own = ["localhost", "127.0.0.1", "[::1]", "LocalHost", "localhost."]
    for host in (*own, *(f"{name}:{port}" for name in own)):
        assert ask(gateway, "GET", "/v1/datasets", Host=host).status == 200, host

    foreign = ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.nip.io")
    odd = ("", "localhost:1", f"localhost:{port}x", "user@localhost", "localhost:", "127.0.0.2")
    for host in foreign + odd:
        answer = ask(gateway, "GET", "/v1/datasets", Host=host)
        assert (answer.status, answer.json["error"]["type"]) == (421, "MisdirectedRequest"), host
    assert "GATEWAY_HOSTS" in ask(gateway, "GET", "/v1/datasets", Host="evil.example").message
    assert ask(gateway, "GET", "/v1/datasets").status == 421


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/datasets"),
        ("POST", "/v1/datasets"),
        ("DELETE", "/v1/datasets/web"),
        ("POST", "/v1/query"),
        ("GET", "/v1/views"),
        ("GET", "/v1/datasets/web/preview"),
        ("POST", "/v2/rest/query"),
        ("POST", "/v1/rest/mgmt"),
        ("GET", "/iceberg/v1/config"),
        ("POST", "/iceberg/v1/oauth/tokens"),
        ("GET", "/nowhere"),
    ],
)
def test_every_route_refuses_foreign_names_origins_and_sites(
    gateway: GatewayServer, segments: SegmentWriter, method: str, path: str
) -> None:
    segments.write(rows=1)
    body = QUERY if method == "POST" else b""

    own: dict[str, Any] = {"Host": f"localhost:{gateway.port}", "Content_Type": JSON}
    foreign = [
        {**own, "Host": "rebound.example"},
        {**own, "Origin": "https://evil.example"},
        {**own, "Origin": "null"},
        {**own, "Origin": "http://localhost:3000"},
        {**own, "Sec_Fetch_Site": "cross-site"},
    ]
    statuses = [ask(gateway, method, path, body, **headers).status for headers in foreign]

    assert statuses == [421, 403, 403, 403, 403]
    assert gateway.get("v1/datasets/web").status == 200


def test_health_answers_to_any_name(gateway: GatewayServer) -> None:
    headers = {"Host": "balancer.example", "Origin": "https://evil.example"}

    assert ask(gateway, "GET", "/healthz", **headers).status == 200


def test_a_body_without_a_bearer_token_is_json(gateway: GatewayServer) -> None:
    host = f"127.0.0.1:{gateway.port}"
    for content_type in FORM_TYPES:
        headers = {"Host": host} | ({"Content_Type": content_type} if content_type else {})
        for path in ("/v1/query", "/v2/rest/query", "/iceberg/v1/namespaces/default/views"):
            answer = ask(gateway, "POST", path, QUERY, **headers)
            assert (answer.status, JSON in answer.message) == (415, True), (path, content_type)

    for content_type in (JSON, "Application/JSON; charset=utf-8"):
        answer = ask(gateway, "POST", "/v1/query", QUERY, Host=host, Content_Type=content_type)
        assert answer.status == 200, answer.body
    chunked = {"Host": host, "Transfer_Encoding": "chunked"}
    assert ask(gateway, "POST", "/v1/query", **chunked).status == 415


def test_the_gateways_own_origin_is_answered(gateway: GatewayServer) -> None:
    host = f"localhost:{gateway.port}"
    headers = {"Host": host, "Origin": f"http://{host}", "Sec_Fetch_Site": "same-origin"}

    answer = ask(gateway, "POST", "/v1/query", QUERY, Content_Type=JSON, **headers)

    assert answer.status == 200


@pytest.mark.long
def test_with_a_bearer_token_any_content_type_and_origin_are_taken(
    meta_server: MetaServer, gateway: GatewayServer
) -> None:
    guarded = GatewayServer(meta_server.address, pool=None, auth_token="t" * 40)
    try:
        for content_type in FORM_TYPES:
            headers = {
                "Host": "any.example",
                "Origin": "https://grafana.example",
                "Content_Type": content_type,
                "Authorization": f"Bearer {'t' * 40}",
            }
            assert ask(guarded, "POST", "/v1/query", QUERY, **headers).status == 200
        assert ask(guarded, "POST", "/v1/query", QUERY, Host="any.example").status == 401
    finally:
        guarded.close()
    # Here the token is one that meta does not know, and the name is foreign all the same.
    headers = {"Authorization": "Bearer x", "Host": "evil.example"}
    assert ask(gateway, "POST", "/v1/query", QUERY, **headers).status == 421


def test_the_names_of_the_setting_are_checked_also_with_a_token(meta_server: MetaServer) -> None:
    hosts = config.load(Environment("GATEWAY_", {"GATEWAY_HOSTS": "a.example, b.example:8443"}))
    server = GatewayServer(meta_server.address, auth_token="t" * 40, hosts=hosts.hosts)
    try:
        headers = {"Authorization": f"Bearer {'t' * 40}"}
        statuses = {
            host: ask(server, "GET", "/v1/datasets", Host=host, **headers).status
            for host in ("a.example", f"a.example:{server.port}", "b.example:8443")
        }
        refused = {
            host: ask(server, "GET", "/v1/datasets", Host=host, **headers).status
            for host in ("a.example:8443", "b.example", "localhost")
        }
    finally:
        server.close()

    assert set(statuses.values()) == {200}, statuses
    assert set(refused.values()) == {421}, refused


def test_names_that_are_none_end_the_start() -> None:
    for text in ("http://a.example", "a.example/", "a b c:99999", "*"):
        with pytest.raises(ConfigError, match=r"GATEWAY_HOSTS: .* is not a host name"):
            config.load(Environment("GATEWAY_", {"GATEWAY_HOSTS": text}))
    most = ",".join(f"h{n}" for n in range(64))
    assert config.load(Environment("GATEWAY_", {"GATEWAY_HOSTS": most})).hosts is not None
    with pytest.raises(ConfigError, match="at most 64"):
        config.load(Environment("GATEWAY_", {"GATEWAY_HOSTS": f"{most},h64"}))


def test_the_default_names_have_the_address_of_the_bind() -> None:
    hosts = Settings(meta_address="", bind="[::1]:9580").answered_hosts()
    other = Settings(meta_address="", bind="127.0.0.7:9580").answered_hosts()
    open_to_all = Settings(meta_address="", auth_token="t").answered_hosts()

    assert hosts
    assert hosts.include("[::1]:9580", 9580)
    assert other
    assert other.include("127.0.0.7", 9580)
    assert open_to_all is None
