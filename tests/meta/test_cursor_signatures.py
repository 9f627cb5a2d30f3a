"""Cursors are signed: nobody but a server of the same database makes one."""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import CursorInvalid
from meta.server import server
from meta.services.messages import cursors
from meta.v1 import catalog_pb2, segment_lookup_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer

KEY_A, KEY_B = b"a" * 32, b"b" * 32


def _first_cursor(client: MetaClient) -> str:
    page = catalog_pb2.PaginationRequest(limit=1)
    reply = client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(pagination=page))
    return reply.pagination.next_cursor


def _second_page(client: MetaClient, cursor: str) -> int:
    page = catalog_pb2.PaginationRequest(limit=1, after=cursor)
    reply = client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(pagination=page))
    return len(reply.items)


def test_a_cursor_that_anyone_could_compute_is_refused(
    meta_server: MetaServer, catalog: CatalogDriver
) -> None:
    catalog.dataset()
    genuine = base64.urlsafe_b64decode(_first_cursor(meta_server.client))
    position = genuine[:16]
    bound_to = repr((position.hex(), "ListDatasets", ())).encode()
    digest = hashlib.blake2b(bound_to, digest_size=12).digest()

    with pytest.raises(CursorInvalid):
        _second_page(meta_server.client, base64.urlsafe_b64encode(position + digest).decode())
    assert _second_page(meta_server.client, base64.urlsafe_b64encode(genuine).decode()) == 1


def test_each_bit_of_a_lookup_cursor_is_covered(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer
) -> None:
    writer.save_many(catalog.dataset(), 3)
    request = segment_lookup_pb2.FindSegmentsRequest(limit=1)
    page = meta_server.client.segment_lookup.FindSegments(request).page
    raw = base64.urlsafe_b64decode(page.next_cursor)

    for bit in range(0, 8 * len(raw), 5):
        forged = bytearray(raw)
        forged[bit // 8] ^= 1 << bit % 8
        request.cursor = base64.urlsafe_b64encode(bytes(forged)).decode()
        with pytest.raises(CursorInvalid):
            meta_server.client.segment_lookup.FindSegments(request)


def test_servers_of_one_database_take_each_others_cursors(
    meta_server: MetaServer, catalog: CatalogDriver, meta_settings: Settings
) -> None:
    catalog.dataset()
    cursor = _first_cursor(meta_server.client)
    other = server.start(replace(meta_settings, bind="127.0.0.1:0"))
    try:
        with MetaClient(f"127.0.0.1:{other.port}") as client:
            assert _second_page(client, cursor) == 1
    finally:
        other.stop(1.0)


def _with_key(key: bytes, call: Callable[[], object]) -> object:
    cursors.sign_with(key)
    try:
        return call()
    finally:
        cursors.sign_with(b"")


def test_a_cursor_of_another_key_is_refused() -> None:
    cursor = str(_with_key(KEY_A, lambda: cursors.encode(b"position", b"list")))

    def decode() -> bytes:
        return cursors.decode(cursor, 8, lambda _: b"list", "cursor")

    position = _with_key(KEY_A, decode)
    for key in (KEY_B, b""):
        with pytest.raises(CursorInvalid):
            _with_key(key, decode)
    assert position == b"position"
