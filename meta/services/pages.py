"""Catalog pages: limits, and cursors that are bound to their RPC and its filters."""

import base64
import binascii
import hashlib
from typing import Any, Protocol
from uuid import UUID

from meta.errors import CursorInvalid, InvalidArgument
from meta.services import checks
from meta.store.keyset import Page, Window
from meta.v1 import catalog_pb2

LIMIT_DEFAULT = 100
LIMIT_MAX = 1_000
# Below gRPC's default receive limit of 4 MiB with room to spare.
PAGE_BYTES_MAX = 3_670_016
_DIGEST_BYTES = 12


class Pagination(Protocol):
    """PaginationRequest, or a request with the same three fields."""

    limit: int
    after: str
    before: str


def window(pagination: Pagination, rpc: str, *filters: object) -> Window:
    """Check which page is wanted; raises CursorInvalid for a cursor of another list."""
    if pagination.after and pagination.before:
        raise InvalidArgument("after and before are both set", field="pagination.before")
    return Window(
        limit=checks.limit(pagination.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX),
        bytes_max=PAGE_BYTES_MAX,
        after=_position(pagination.after, "pagination.after", rpc, filters),
        before=_position(pagination.before, "pagination.before", rpc, filters),
    )


def answer(page: Page[Any], rpc: str, *filters: object) -> catalog_pb2.PaginationResponse:
    """Say where the page stands."""
    first, last = (page.ids[0], page.ids[-1]) if page.ids else (None, None)
    return catalog_pb2.PaginationResponse(
        next_cursor=_cursor(last, rpc, filters) if last and page.has_next else None,
        prev_cursor=_cursor(first, rpc, filters) if first and page.preceding else None,
        total=page.total,
    )


def _cursor(position: UUID, rpc: str, filters: tuple[object, ...]) -> str:
    raw = position.bytes + _digest(position, rpc, filters)
    return base64.urlsafe_b64encode(raw).decode()


def _position(cursor: str, field: str, rpc: str, filters: tuple[object, ...]) -> UUID | None:
    if not cursor:
        return None
    try:
        raw = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
        position = UUID(bytes=raw[:16])
    except (binascii.Error, ValueError):
        raise CursorInvalid(f"{field} is not a cursor of ours", field=field) from None
    if raw[16:] != _digest(position, rpc, filters):
        raise CursorInvalid(f"{field} belongs to another list or filter", field=field)
    return position


def _digest(position: UUID, rpc: str, filters: tuple[object, ...]) -> bytes:
    text = repr((position.hex, rpc, filters))
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()
