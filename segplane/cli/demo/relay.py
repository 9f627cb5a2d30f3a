"""Exports on their way to the collector: each record gets an id, and the log of requests keeps it.

Ids are attributes, as an OpenTelemetry Collector with an attributes processor would add them. A
request whose outcome is unknown is sent again byte for byte. The relay is an OTLP/HTTP endpoint
between the processes' own exporters and the collector.
"""

import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from uuid import uuid4

from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import TRAITS
from segplane.cli.delivery import post
from segplane.cli.demo import RECORD_ID

CLOSE_SECS = 100.0
_CLASSES = {TRAITS[signal].http_path: class_ for signal, class_ in OFFICIAL_CLASSES.items()}
# Fields that a record has, and none of the messages around it.
_TIMES = ("time_unix_nano", "start_time_unix_nano")


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Ids in requests that were sent to the collector at all, and that it has acknowledged."""

    offered: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)

    def send(self, endpoint: str, token: str, path: str, export: Message) -> tuple[int, bytes]:
        """Give every record an id and send them; returns the collector's status and body."""
        ids = stamp(export)
        self.offered.update(ids)
        body = export.SerializeToString()
        status, reply = post(f"{endpoint}{path}", token, body, "application/x-protobuf")
        if status == HTTPStatus.OK:
            self.acknowledged.update(ids)
        return status or HTTPStatus.SERVICE_UNAVAILABLE, reply


class Relay(ThreadingHTTPServer):
    """An OTLP/HTTP endpoint on a free port, from enter to exit.

    Until `open` exporters are asked to try again, after `close` their data is discarded.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.log = RequestLog()
        self._lock = threading.Condition()
        self._target: tuple[str, str] | None = None
        self._is_closed = False
        self._in_flight = 0

    @property
    def endpoint(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def open(self, endpoint: str, token: str) -> None:
        """Let requests through to a collector."""
        self._target = (endpoint, token)

    def close(self) -> None:
        """Let nothing more through, and wait for requests under way."""
        with self._lock:
            self._is_closed = True
            self._lock.wait_for(lambda: self._in_flight == 0, CLOSE_SECS)

    def __enter__(self) -> Self:
        """Listen."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self.shutdown()
        self.server_close()

    def forward(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Pass one export on; returns the status and body for the exporter."""
        with self._lock:
            if self._is_closed:
                return HTTPStatus.OK, b""
            if self._target is None:
                return HTTPStatus.SERVICE_UNAVAILABLE, b""
            self._in_flight += 1
        try:
            return self.log.send(*self._target, path, _CLASSES[path].FromString(body))
        finally:
            with self._lock:
                self._in_flight -= 1
                self._lock.notify_all()


def stamp(export: Message) -> list[str]:
    """Give every record an id attribute; returns the ids."""
    ids = []
    for record in _records(export):
        ids.append(uuid4().hex)
        attribute = KeyValue(key=RECORD_ID)
        attribute.value.string_value = ids[-1]
        record.attributes.append(attribute)
    return ids


def _records(message: Message) -> Iterator[Any]:
    for described, value in message.ListFields():
        if described.message_type is not None:
            for inner in value if described.is_repeated else (value,):
                if any(name in inner.DESCRIPTOR.fields_by_name for name in _TIMES):
                    yield inner
                else:
                    yield from _records(inner)


class _Handler(BaseHTTPRequestHandler):
    server: Relay
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take one export."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        status, reply = self.server.forward(self.path, body)
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the demo's own lines use the terminal."""
