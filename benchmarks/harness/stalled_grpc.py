"""A gRPC call over bare HTTP/2 that sends a message but for its end."""

import socket
from contextlib import suppress

import h2.connection
import h2.events
from h2.exceptions import ProtocolError

METHOD = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
FRAME_BYTES = 16_384


class StalledGrpcCall:
    """One Export whose message is announced and never ends; sends as flow control allows."""

    def __init__(self, connection: socket.socket, token_secret: str, message_bytes: int) -> None:
        self._socket = connection
        self._http = h2.connection.H2Connection()
        # The message's prefix, then all but its last byte.
        self._left = message_bytes + 5 - 1
        self._prefix = b"\0" + message_bytes.to_bytes(4, "big")
        self._headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", METHOD),
            (":authority", "collector"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            ("authorization", f"Bearer {token_secret}"),
        ]

    def run(self) -> None:
        """Send until the window or the message is used up, and read whatever comes back."""
        with suppress(OSError, ProtocolError):
            self._http.initiate_connection()
            self._http.send_headers(1, self._headers)
            while True:
                self._send()
                received = self._socket.recv(65_536)
                if not received:
                    return
                for event in self._http.receive_data(received):
                    if isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                        self._left = 0

    def _send(self) -> None:
        while self._left:
            size_bytes = min(self._left, FRAME_BYTES, self._http.local_flow_control_window(1))
            if size_bytes <= 0:
                break
            data, self._prefix = self._prefix[:size_bytes], self._prefix[size_bytes:]
            self._http.send_data(1, data + bytes(size_bytes - len(data)))
            self._left -= size_bytes
            self._socket.sendall(self._http.data_to_send())
        self._socket.sendall(self._http.data_to_send())
