"""OTLP/HTTP relay between the processes' own exporters and the collector.

It adds an id attribute to every record, as an OpenTelemetry Collector with an attributes processor
would, and logs the ids that the collector has acknowledged. A request whose outcome is unknown is
sent again byte for byte.
"""

import gzip
import http.client
import threading
import time
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit
from uuid import uuid4

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    ExponentialHistogramDataPoint,
    HistogramDataPoint,
    NumberDataPoint,
    SummaryDataPoint,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from segplane.cli.demo import RECORD_ID

Request = ExportLogsServiceRequest | ExportTraceServiceRequest | ExportMetricsServiceRequest
Record = (
    LogRecord
    | Span
    | NumberDataPoint
    | HistogramDataPoint
    | ExponentialHistogramDataPoint
    | SummaryDataPoint
)
REQUESTS: dict[str, type[Request]] = {
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}
FORWARD_TIMEOUT_SECS = 20.0
FORWARD_TRIES = 5
RETRY_SECS = 0.5


class Relay:
    """An OTLP/HTTP endpoint on a free port, from enter to exit.

    Until `open` exporters are asked to try again, after `close` their data is discarded.
    """

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.relay = self  # type: ignore[attr-defined]
        self._lock = threading.Condition()
        self._target: tuple[str, str] | None = None
        self._is_closed = False
        self._in_flight = 0
        self._acknowledged: set[str] = set()
        self._offered: set[str] = set()

    @property
    def endpoint(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def acknowledged(self) -> frozenset[str]:
        """Ids in requests that the collector has acknowledged."""
        with self._lock:
            return frozenset(self._acknowledged)

    @property
    def offered(self) -> frozenset[str]:
        """Ids in requests that were sent to the collector at all."""
        with self._lock:
            return frozenset(self._offered)

    def open(self, endpoint: str, token: str) -> None:
        """Let requests through to a collector."""
        with self._lock:
            self._target = (endpoint, token)

    def close(self) -> None:
        """Let nothing more through, and wait for requests under way."""
        with self._lock:
            self._is_closed = True
            self._lock.wait_for(lambda: self._in_flight == 0, FORWARD_TIMEOUT_SECS * FORWARD_TRIES)

    def __enter__(self) -> Self:
        """Listen."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def forward(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Stamp one export and pass it on; returns the status and body for the exporter."""
        with self._lock:
            if self._is_closed:
                return HTTPStatus.OK, b""
            if self._target is None:
                return HTTPStatus.SERVICE_UNAVAILABLE, b""
            target = self._target
            self._in_flight += 1
        ids: list[str] = []
        status, reply = int(HTTPStatus.SERVICE_UNAVAILABLE), b""
        try:
            request = REQUESTS[path].FromString(body)
            ids = stamp(request)
            with self._lock:
                self._offered.update(ids)
            status, reply = _post(target, path, request.SerializeToString())
        finally:
            with self._lock:
                self._in_flight -= 1
                if status == HTTPStatus.OK:
                    self._acknowledged.update(ids)
                self._lock.notify_all()
        return status, reply


def stamp(request: Request) -> list[str]:
    """Give every record an id attribute; returns the ids."""
    ids = []
    for record in _records(request):
        ids.append(uuid4().hex)
        attribute = KeyValue(key=RECORD_ID)
        attribute.value.string_value = ids[-1]
        record.attributes.append(attribute)
    return ids


def _records(request: Request) -> Iterator[Record]:
    if isinstance(request, ExportLogsServiceRequest):
        for resource_logs in request.resource_logs:
            for scope_logs in resource_logs.scope_logs:
                yield from scope_logs.log_records
    elif isinstance(request, ExportTraceServiceRequest):
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                yield from scope_spans.spans
    else:
        for resource_metrics in request.resource_metrics:
            for scope_metrics in resource_metrics.scope_metrics:
                for metric in scope_metrics.metrics:
                    points: Iterable[Record] = getattr(
                        metric, metric.WhichOneof("data") or "gauge"
                    ).data_points
                    yield from points


def _post(target: tuple[str, str], path: str, body: bytes) -> tuple[int, bytes]:
    endpoint, token = target
    headers = {"content-type": "application/x-protobuf", "authorization": f"Bearer {token}"}
    status, reply = int(HTTPStatus.SERVICE_UNAVAILABLE), b""
    for _ in range(FORWARD_TRIES):
        connection = http.client.HTTPConnection(
            urlsplit(endpoint).netloc, timeout=FORWARD_TIMEOUT_SECS
        )
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            status, reply = answer.status, answer.read()
        except OSError:
            status = int(HTTPStatus.SERVICE_UNAVAILABLE)
        finally:
            connection.close()
        if status < HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.TOO_MANY_REQUESTS:
            break
        time.sleep(RETRY_SECS)
    return status, reply


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take one export."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        relay: Relay = self.server.relay  # type: ignore[attr-defined]
        status, reply = relay.forward(self.path, body)
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the demo's progress bars use the terminal."""
