"""Catalog pages: limits, and cursors that are bound to their RPC and its filters."""

from typing import Any, Protocol
from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import checks, cursors
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.store.engine.keyset import Page, Window
from meta.v1 import catalog_pb2

LIMIT_DEFAULT = 100
LIMIT_MAX = 1_000


class Pagination(Protocol):
    """PaginationRequest, or a request with the same three fields."""

    limit: int
    after: str
    before: str


def window(pagination: Pagination, rpc: str, *filters: object) -> Window:
    """The page that is asked for. Raises CursorInvalid for a cursor of another list."""
    if pagination.after and pagination.before:
        raise InvalidArgument("after and before are both set", field="pagination.before")
    return Window(
        limit=checks.limit(pagination.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX),
        bytes_max=REPLY_BYTES_MAX,
        after=_position(pagination.after, "pagination.after", rpc, filters),
        before=_position(pagination.before, "pagination.before", rpc, filters),
    )


def answer(page: Page[Any], rpc: str, *filters: object) -> catalog_pb2.PaginationResponse:
    """The cursors of the pages before and after, and the total."""
    first, last = (page.ids[0], page.ids[-1]) if page.ids else (None, None)
    return catalog_pb2.PaginationResponse(
        next_cursor=_cursor(last, rpc, filters) if last and page.has_next else None,
        prev_cursor=_cursor(first, rpc, filters) if first and page.preceding else None,
        total=page.total,
    )


def _cursor(position: UUID, rpc: str, filters: tuple[object, ...]) -> str:
    return cursors.encode(position.bytes, _bound_to(position.bytes, rpc, filters))


def _position(cursor: str, field: str, rpc: str, filters: tuple[object, ...]) -> UUID | None:
    if not cursor:
        return None
    return UUID(bytes=cursors.decode(cursor, 16, lambda raw: _bound_to(raw, rpc, filters), field))


def _bound_to(position: bytes, rpc: str, filters: tuple[object, ...]) -> bytes:
    return repr((position.hex(), rpc, filters)).encode()
