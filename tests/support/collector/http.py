"""OTLP over HTTP, a request on its own connection."""

import http.client
from dataclasses import dataclass

from google.rpc.status_pb2 import Status

from segments.signals import Signal
from tests.support.collector.process import CollectorProcess

PROTOBUF = "application/x-protobuf"
JSON = "application/json"


@dataclass(frozen=True)
class HttpAnswer:
    """An HTTP response."""

    status: int
    content_type: str | None
    retry_after: str | None
    body: bytes

    @property
    def error(self) -> Status:
        """The google.rpc.Status in a protobuf body."""
        return Status.FromString(self.body)


def post(
    collector: CollectorProcess,
    body: bytes,
    headers: dict[str, str],
    signal: Signal = "logs",
    timeout: float = 20.0,
) -> HttpAnswer:
    """Send one export on its own connection."""
    return post_to(f"/v1/{signal}", collector, body, headers, timeout)


def post_to(
    path: str,
    collector: CollectorProcess,
    body: bytes,
    headers: dict[str, str],
    timeout: float = 60.0,
) -> HttpAnswer:
    """Send one request on its own connection."""
    connection = http.client.HTTPConnection("127.0.0.1", collector.http_port, timeout=timeout)
    try:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        return HttpAnswer(
            response.status,
            response.getheader("Content-Type"),
            response.getheader("Retry-After"),
            response.read(),
        )
    finally:
        connection.close()
