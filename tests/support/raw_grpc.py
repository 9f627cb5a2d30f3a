"""A gRPC call over bare HTTP/2, since gRPC's Python client sends no encoding but its own."""

import socket
import struct
from collections.abc import Mapping

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ResponseReceived, StreamEnded, StreamReset, TrailersReceived

DEADLINE_SECS = 60.0


def call(
    port: int, method: str, encoding: str, body: bytes, metadata: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Send one message in an encoding; returns the headers and trailers of the reply."""
    http2 = H2Connection(H2Configuration(header_encoding="utf-8"))
    http2.initiate_connection()
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "server",
        "content-type": "application/grpc",
        "te": "trailers",
        "grpc-encoding": encoding,
        **(metadata or {}),
    }
    http2.send_headers(1, list(headers.items()))
    is_compressed = encoding != "identity"
    http2.send_data(1, struct.pack(">BI", is_compressed, len(body)) + body, end_stream=True)
    reply: dict[str, str] = {}
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECS) as connection:
        while True:
            connection.sendall(http2.data_to_send())
            for event in http2.receive_data(connection.recv(65536)):
                if isinstance(event, ResponseReceived | TrailersReceived):
                    reply |= {str(name): str(value) for name, value in event.headers}
                if isinstance(event, StreamEnded | StreamReset):
                    return reply
