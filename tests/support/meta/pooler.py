"""Poolers between meta and Postgres, as far as the start of a connection shows them."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_SSL_REQUEST, _GSS_REQUEST = 80_877_103, 80_877_104
_READ_BYTES = 65_536


@contextmanager
def refusing_pooler() -> Iterator[int]:
    """Refuse the options of connections, as PgBouncer does by default; yields the port."""
    fields = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
    refusal = b"E" + struct.pack(">i", len(fields) + 4) + fields

    def serve(client: socket.socket) -> None:
        _startup(client)
        client.sendall(refusal)

    with _listening(serve) as port:
        yield port


@contextmanager
def ignoring_pooler(postgres_socket: str) -> Iterator[int]:
    """Drop the options, as PgBouncer does with ignore_startup_parameters; yields the port."""

    def serve(client: socket.socket) -> None:
        parameters = _startup(client)
        parameters.pop(b"options", None)
        body = b"".join(name + b"\0" + value + b"\0" for name, value in parameters.items()) + b"\0"
        with socket.socket(socket.AF_UNIX) as postgres:
            postgres.connect(f"{postgres_socket}/.s.PGSQL.5432")
            postgres.sendall(struct.pack(">ii", len(body) + 8, 196_608) + body)
            pump = threading.Thread(target=_copy, args=(postgres, client), daemon=True)
            pump.start()
            _copy(client, postgres)

    with _listening(serve) as port:
        yield port


def _startup(client: socket.socket) -> dict[bytes, bytes]:
    """Read the startup message; returns its parameters."""
    while True:
        size, code = struct.unpack(">ii", _exactly(client, 8))
        body = _exactly(client, size - 8)
        if code not in (_SSL_REQUEST, _GSS_REQUEST):
            parts = body.rstrip(b"\0").split(b"\0")
            return dict(zip(parts[::2], parts[1::2], strict=True))
        client.sendall(b"N")


def _exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = client.recv(size - len(data))
        if not received:
            raise ConnectionError("the client has left")
        data += received
    return data


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_READ_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def _listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def handle(client: socket.socket) -> None:
            with client, suppress(OSError):
                serve(client)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=handle, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
