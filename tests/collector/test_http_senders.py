"""HTTP senders: encodings, paths, methods, browsers, headers of refusals."""

import gzip
import http.client
import json
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest

from collector.otlp.json import to_protobuf
from collector.refusal import Refused
from collector.servers.decompress import DECOMPRESSORS, unlz4, unsnappy
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.process import CollectorProcess, StartCollector

pytestmark = pytest.mark.one_meta
PROTOBUF = "application/x-protobuf"
BOMB_BYTES = 1024 * 1024


def bare_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


ENCODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "empty": ("", bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "bare deflate": ("deflate", bare_deflate),
    "zlib": ("zlib", zlib.compress),
    "snappy, framed": ("snappy", lambda body: bytes(cramjam.snappy.compress(body))),
    "snappy, a block": ("snappy", lambda body: bytes(cramjam.snappy.compress_raw(body))),
    "x-snappy-framed": ("x-snappy-framed", lambda body: bytes(cramjam.snappy.compress(body))),
    "lz4": ("lz4", lz4.frame.compress),
}


def send(
    collector: CollectorProcess,
    method: str,
    path: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
) -> tuple[http.client.HTTPResponse, bytes]:
    """Send one request; returns the response and its body."""
    connection = http.client.HTTPConnection("127.0.0.1", collector.http_port, timeout=20)
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def export_headers(token: GroundToken, **more: str) -> dict[str, str]:
    return {"X-Ingest-Token": token.token_secret, "Content-Type": PROTOBUF, **more}


@pytest.mark.long
def test_every_encoding_that_clients_send_is_taken(
    ground: Ground, start_collector: StartCollector
) -> None:
    token, collector = ground.new_token(), start_collector()

    for name, (encoding, compress) in ENCODINGS.items():
        headers = export_headers(token, **{"Content-Encoding": encoding})
        response, _ = send(collector, "POST", "/v1/logs", compress(log_export(name)), headers)
        assert response.status == 200, name

    assert ground.committed_ids() == sorted(ENCODINGS)


@pytest.mark.parametrize(("encoding", "compress"), ENCODINGS.values(), ids=ENCODINGS)
def test_a_bomb_of_any_encoding_stops_at_the_limit(
    encoding: str, compress: Callable[[bytes], bytes]
) -> None:
    if encoding in ("", "identity"):
        return
    with pytest.raises(Refused, match="larger than 1000 bytes"):
        DECOMPRESSORS[encoding](compress(bytes(BOMB_BYTES)), 1000)


@pytest.mark.parametrize("encoding", sorted(set(DECOMPRESSORS) - {"", "identity"}))
def test_what_is_not_of_an_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(Refused):
        DECOMPRESSORS[encoding](b"plainly not compressed", 1000)


def test_damaged_and_cut_bodies_are_refused() -> None:
    framed = bytearray(cramjam.snappy.compress(b"some text to keep"))
    framed[-1] ^= 1

    with pytest.raises(Refused):
        unsnappy(bytes(framed), 1000)
    with pytest.raises(Refused):
        unsnappy(bytes(cramjam.snappy.compress(b"some text"))[:-3], 1000)
    with pytest.raises(Refused):
        unlz4(lz4.frame.compress(b"some text")[:-5], 1000)


def test_a_path_with_a_slash_at_its_end_is_the_same_path(
    ground: Ground, start_collector: StartCollector
) -> None:
    token, collector = ground.new_token(), start_collector()

    response, _ = send(collector, "POST", "/v1/logs/", log_export("a"), export_headers(token))

    assert response.status == 200
    assert ground.committed_ids() == ["a"]


def test_refusals_say_what_they_are_and_no_versions(
    ground: Ground, start_collector: StartCollector
) -> None:
    collector = start_collector()

    unknown, unknown_body = send(collector, "POST", "/v1/other")
    method, method_body = send(collector, "GET", "/v1/logs")
    token, _ = send(collector, "POST", "/v1/logs", b"", {"Content-Type": PROTOBUF})
    preflight, _ = send(collector, "OPTIONS", "/v1/logs", b"", {"Origin": "https://page.example"})

    assert (unknown.status, json.loads(unknown_body)["code"]) == (404, 5)
    assert (method.status, json.loads(method_body)["code"]) == (405, 12)
    assert method.getheader("Allow") == "POST"
    assert token.status == 401
    assert token.getheader("WWW-Authenticate") == 'Bearer realm="segplane"'
    assert preflight.status == 405
    assert preflight.getheader("Access-Control-Allow-Origin") is None
    for response in (unknown, method, token):
        assert response.getheader("Server") == "segplane"


@pytest.mark.one_meta(False)
def test_browsers_of_the_origins_that_are_set_may_send(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector(COLLECTOR_HTTP_CORS_ORIGINS="https://page.example")
    asked = {
        "Origin": "https://page.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-ingest-token",
    }

    preflight, _ = send(collector, "OPTIONS", "/v1/logs", b"", asked)
    headers = export_headers(token, Origin="https://page.example")
    export, _ = send(collector, "POST", "/v1/logs", log_export("a"), headers)
    foreign, _ = send(
        collector, "OPTIONS", "/v1/logs", b"", {**asked, "Origin": "https://other.example"}
    )

    assert preflight.status == 204
    assert preflight.getheader("Access-Control-Allow-Origin") == "https://page.example"
    assert preflight.getheader("Access-Control-Allow-Headers") == "content-type,x-ingest-token"
    assert export.status == 200
    assert export.getheader("Access-Control-Allow-Origin") == "https://page.example"
    assert foreign.status == 405


def test_json_with_one_bad_record_is_taken_but_for_that_record(
    ground: Ground, start_collector: StartCollector
) -> None:
    token, collector = ground.new_token(), start_collector()
    texts = ['"kept"', r'"lone \ud800 surrogate"', '"kept too"']
    records = ",".join(f'{{"timeUnixNano":"5","body":{{"stringValue":{text}}}}}' for text in texts)
    body = f'{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{records}]}}]}}]}}'.encode()
    headers = {"X-Ingest-Token": token.token_secret, "Content-Type": "application/json"}

    response, reply = send(collector, "POST", "/v1/logs", body, headers)

    partial = json.loads(reply)["partialSuccess"]
    assert response.status == 200
    assert partial["rejectedLogRecords"] == "1"
    assert "text that is not valid Unicode" in partial["errorMessage"]
    assert ground.committed_ids() == ["kept", "kept too"]


def test_a_bad_data_point_is_rejected_by_itself() -> None:
    points = [{"timeUnixNano": "1", "asInt": "1"}, {"timeUnixNano": "x", "asInt": "2"}]
    metrics = [{"name": "bad", "gauge": {"dataPoints": points}}, {"name": "good", "sum": {}}]
    tree = {"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}

    result = to_protobuf("metrics", json.dumps(tree).encode())

    assert result.num_rejected == 1
    assert "gauge.dataPoints[1].timeUnixNano: found text" in result.cause


def test_json_of_which_nothing_is_valid_is_refused() -> None:
    body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"x"}]}]}]}'

    with pytest.raises(Refused, match="found text that is not a whole number"):
        to_protobuf("logs", body)
