"""Connections to meta are closed when they are old, and no call notices."""

from socket import create_connection

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.rpc import connections
from meta.server import server
from meta.v1 import catalog_pb2
from tests.support.repeated_calls import RepeatedCalls

GET = catalog_pb2.GetDatasetRequest(name="default")
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_GOAWAY = 7


def _frames_until_goaway(port: int) -> list[int]:
    """Types of the frames of a connection that asks for nothing."""
    types: list[int] = []
    with create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(_PREFACE)
        with connection.makefile("rb") as stream:
            while _GOAWAY not in types and (head := stream.read(9)):
                types.append(head[3])
                stream.read(int.from_bytes(head[:3], "big"))
    return types


def test_an_old_connection_is_told_to_go_and_no_call_fails(
    meta_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECTION_AGE_MS", 300)
    running = server.start(meta_settings)
    try:
        with (
            MetaClient(f"127.0.0.1:{running.port}") as client,
            RepeatedCalls(lambda: client.catalog.GetDataset(GET)) as calls,
        ):
            for _ in range(2):
                assert _frames_until_goaway(running.port)[-1] == _GOAWAY
                calls.go_on()
    finally:
        running.stop(1.0)
