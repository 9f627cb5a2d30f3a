"""OTLP over TLS."""

import ssl
from pathlib import Path
from urllib.request import Request, urlopen

import grpc
import pytest

from tests.support.certificates import Authority
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector, Stub


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


def test_plain_text_beyond_this_machine_is_noticed(start_collector: StartCollector) -> None:
    collector = start_collector(COLLECTOR_HTTP_BIND="0.0.0.0:0")

    assert collector.wait_for("plain_text_port")["bind"] == "0.0.0.0:0"


def test_exports_arrive_over_tls_and_over_nothing_else(
    ground: Ground, start_collector: StartCollector, authority: Authority
) -> None:
    served = authority.issue("collector")
    collector = start_collector(
        COLLECTOR_TLS_CERT_FILE=str(served.cert),
        COLLECTOR_TLS_KEY_FILE=str(served.key),
    )
    token = ground.new_token()
    ca = authority.ca_file.read_bytes()
    credentials = grpc.ssl_channel_credentials(ca)
    with grpc.secure_channel(f"127.0.0.1:{collector.grpc_port}", credentials) as channel:
        Stub(channel).export(token.token_secret, log_export("over gRPC"))
    request = Request(
        f"https://127.0.0.1:{collector.http_port}/v1/logs",
        log_export("over HTTP"),
        {
            "authorization": f"Bearer {token.token_secret}",
            "content-type": "application/x-protobuf",
        },
    )
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    assert urlopen(request, context=context, timeout=20).status == 200

    with (
        grpc.insecure_channel(f"127.0.0.1:{collector.grpc_port}") as plain,
        pytest.raises(grpc.RpcError, match="UNAVAILABLE"),
    ):
        Stub(plain).export(token.token_secret, log_export("in plain text"), timeout=5)
