"""OTLP over TLS."""

import ssl
from pathlib import Path
from socket import create_connection
from urllib.request import Request, urlopen

import grpc
import pytest

from tests.support.certificates import Authority
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import CollectorProcess, StartCollector, Stub
from tests.support.repeated_calls import RepeatedCalls


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


def test_plain_text_beyond_this_machine_is_noticed(start_collector: StartCollector) -> None:
    collector = start_collector(COLLECTOR_HTTP_BIND="0.0.0.0:0")

    assert collector.wait_for("plain_text_port")["bind"] == "0.0.0.0:0"


class TlsSender:
    """Exports over TLS, each export on its own connection."""

    def __init__(self, collector: CollectorProcess, authority: Authority, token_secret: str):
        self.collector = collector
        self._token_secret = token_secret
        self._ca = authority.ca_file.read_bytes()
        self._context = ssl.create_default_context(cafile=str(authority.ca_file))
        self.grpc_target = f"127.0.0.1:{collector.grpc_port}"

    def over_grpc(self) -> None:
        """Export through a new channel."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        credentials = grpc.ssl_channel_credentials(self._ca)
        with grpc.secure_channel(self.grpc_target, credentials, options) as channel:
            Stub(channel).export(self._token_secret, log_export("over gRPC"))

    def over_http(self) -> None:
        """Post to a new connection; raises HTTPError."""
        headers = {
            "authorization": f"Bearer {self._token_secret}",
            "content-type": "application/x-protobuf",
        }
        url = f"https://127.0.0.1:{self.collector.http_port}/v1/logs"
        request = Request(url, log_export("over HTTP"), headers)
        assert urlopen(request, context=self._context, timeout=20).status == 200

    def certificate(self, port: int) -> bytes:
        """The certificate that a port shows."""
        with (
            create_connection(("127.0.0.1", port), timeout=10) as plain,
            self._context.wrap_socket(plain, server_hostname="127.0.0.1") as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
        assert shown is not None
        return shown


@pytest.fixture
def sender(ground: Ground, start_collector: StartCollector, authority: Authority) -> TlsSender:
    served = authority.issue("collector")
    collector = start_collector(
        COLLECTOR_TLS_CERT_FILE=str(served.cert),
        COLLECTOR_TLS_KEY_FILE=str(served.key),
    )
    return TlsSender(collector, authority, ground.new_token().token_secret)


def test_exports_arrive_over_tls_and_over_nothing_else(sender: TlsSender) -> None:
    sender.over_grpc()
    sender.over_http()

    with (
        grpc.insecure_channel(sender.grpc_target) as plain,
        pytest.raises(grpc.RpcError, match="UNAVAILABLE"),
    ):
        Stub(plain).export("it_any", log_export("in plain text"), timeout=5)


def test_a_renewed_certificate_is_shown_on_both_ports_and_no_export_fails(
    sender: TlsSender, authority: Authority
) -> None:
    ports = [int(sender.grpc_target.rpartition(":")[2]), sender.collector.http_port]
    with RepeatedCalls(sender.over_grpc, sender.over_http) as exports:
        shown = [sender.certificate(port) for port in ports]
        assert shown[0] == shown[1]
        for _ in range(2):
            authority.issue("collector")
            former, shown = shown, [sender.certificate(port) for port in ports]
            assert shown[0] == shown[1] != former[0]
            exports.go_on(3)
