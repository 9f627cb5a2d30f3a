"""OTLP over HTTP: encodings, content types, statuses and their bodies."""

import gzip
import http.client
import json
import socket
from typing import Any

import pytest
import zstandard

from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.http import JSON, PROTOBUF, post
from tests.support.collector.process import StartCollector

pytestmark = pytest.mark.one_meta
MIB = 1024 * 1024


def json_export(record_id: str) -> bytes:
    """An OTLP/JSON export of one log record."""
    record: dict[str, Any] = {
        "timeUnixNano": "1700000000000000000",
        "traceId": "5b8efff798038103d269b633813fc60c",
        "body": {"stringValue": record_id},
    }
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()


def test_protobuf_and_json_are_taken_plain_and_compressed(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    bearer = {"Authorization": f"Bearer {token.token_secret}"}
    zstd = zstandard.ZstdCompressor().compress
    protobuf = {**bearer, "Content-Type": PROTOBUF}
    as_json = {**bearer, "Content-Type": f"{JSON}; charset=utf-8"}

    answers = [
        post(collector, log_export("a"), protobuf),
        post(collector, gzip.compress(log_export("b")), {**protobuf, "Content-Encoding": "gzip"}),
        post(collector, zstd(log_export("c")), {**protobuf, "Content-Encoding": "zstd"}),
        post(collector, json_export("d"), as_json),
        post(collector, gzip.compress(json_export("e")), {**as_json, "Content-Encoding": "gzip"}),
    ]

    assert [answer.status for answer in answers] == [200] * 5
    assert [answer.body for answer in answers] == [b"", b"", b"", b"{}", b"{}"]
    assert [answer.content_type for answer in answers] == [PROTOBUF] * 3 + [JSON] * 2
    assert ground.committed_ids() == ["a", "b", "c", "d", "e"]


@pytest.mark.long
@pytest.mark.one_meta(False)
def test_refusals_carry_a_status_in_the_form_of_the_request(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector(COLLECTOR_EXPORT_SIZE_BYTES_MAX=str(MIB))
    bearer = {"Authorization": f"Bearer {token.token_secret}"}
    protobuf = {**bearer, "Content-Type": PROTOBUF}
    bomb = gzip.compress(bytes(100 * MIB))

    malformed = post(collector, b"\xff\xff", protobuf)
    malformed_json = post(collector, b"{", {**bearer, "Content-Type": JSON})
    unknown_token = post(collector, log_export("x"), {"Content-Type": PROTOBUF})
    unknown_type = post(collector, b"a=b", {**bearer, "Content-Type": "text/plain"})
    unknown_encoding = post(collector, b"", {**protobuf, "Content-Encoding": "br"})
    large = post(
        collector, gzip.compress(bytes(9)) + bomb, {**protobuf, "Content-Encoding": "gzip"}
    )
    larger = post(collector, bytes(2 * MIB), protobuf)

    assert (malformed.status, malformed.error.code) == (400, 3)
    assert malformed.content_type == PROTOBUF
    assert malformed_json.status == 400
    assert json.loads(malformed_json.body)["code"] == 3
    assert malformed_json.content_type == JSON
    assert (unknown_token.status, unknown_token.error.code) == (401, 16)
    assert unknown_type.status == 415
    assert unknown_encoding.status == 400
    assert (large.status, larger.status) == (413, 413)
    assert ground.commits() == []


def test_other_methods_and_paths_are_answered_as_http_does(
    ground: Ground, start_collector: StartCollector
) -> None:
    collector = start_collector()
    connection = http.client.HTTPConnection("127.0.0.1", collector.http_port, timeout=20)

    statuses = []
    for method, path in (("GET", "/healthz"), ("GET", "/v1/logs"), ("POST", "/v1/other")):
        connection.request(method, path)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()

    assert statuses == [200, 405, 404]


@pytest.mark.one_meta(False)
@pytest.mark.parametrize("flush_timeout_ms", [600_000])
def test_a_full_buffer_is_503_with_the_time_to_wait(
    ground: Ground, start_collector: StartCollector, flush_timeout_ms: int
) -> None:
    token = ground.new_token()
    collector = start_collector(
        COLLECTOR_BUFFER_SIZE_BYTES_MAX=str(2 * MIB), COLLECTOR_EXPORT_TIMEOUT_SECS="1"
    )
    headers = {"X-Ingest-Token": token.token_secret, "Content-Type": PROTOBUF}
    assert post(collector, log_export("first"), headers).status == 200

    held = post(collector, log_export("held", padding_bytes=MIB - 5000), headers)
    # Of another token, since one token may hold half of the buffer.
    other = {**headers, "X-Ingest-Token": ground.new_token().token_secret}
    turned_away = post(collector, log_export("turned away", padding_bytes=MIB * 3 // 2), other)

    assert (held.status, held.retry_after) == (503, "1")
    assert "in time" in held.error.message
    assert (turned_away.status, turned_away.retry_after) == (503, "1")
    assert "full" in turned_away.error.message


def test_slow_clients_hold_up_nobody(ground: Ground, start_collector: StartCollector) -> None:
    token = ground.new_token()
    collector = start_collector()
    headers = {"X-Ingest-Token": token.token_secret, "Content-Type": PROTOBUF}
    slow = []
    for _ in range(200):
        client = socket.create_connection(("127.0.0.1", collector.http_port))
        client.sendall(
            f"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: {PROTOBUF}\r\n"
            f"X-Ingest-Token: {token.token_secret}\r\nContent-Length: 1000\r\n\r\nhalf".encode()
        )
        slow.append(client)

    assert post(collector, log_export("quick"), headers).status == 200

    for client in slow:
        client.close()
    assert post(collector, log_export("after"), headers).status == 200
    assert collector.terminate() == 0
    collector.wait_for_end()
    assert not [line for line in collector.lines if "rror" in line]


@pytest.mark.long
@pytest.mark.one_meta(False)
def test_host_names_are_checked_if_the_setting_has_any(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    headers = {"Authorization": f"Bearer {token.token_secret}", "Content-Type": PROTOBUF}
    any_name, limited = start_collector(), start_collector(COLLECTOR_HOSTS="logs.example, [::1]")
    port = limited.http_port

    def status(host: str) -> int:
        return post(limited, log_export(host), {**headers, "Host": host}).status

    assert post(any_name, log_export("x"), {**headers, "Host": "evil.example"}).status == 200
    own = ("logs.example", f"logs.example:{port}", f"[::1]:{port}")
    assert [status(host) for host in own] == [200] * 3
    assert [status(host) for host in ("evil.example", "localhost", "logs.example:1", "")] == [
        421
    ] * 4
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/healthz", headers={"Host": "balancer.example"})
    assert connection.getresponse().status == 200
    connection.close()
