"""Paged lists: the replies of a call that lists, to the end of its list."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from meta.v1 import catalog_pb2

PAGE_LIMIT = 1_000


class _Request(Protocol):
    @property
    def pagination(self) -> catalog_pb2.PaginationRequest: ...


class _Reply(Protocol):
    @property
    def pagination(self) -> catalog_pb2.PaginationResponse: ...


Request = TypeVar("Request", bound=_Request)
Reply = TypeVar("Reply", bound=_Reply)


def replies(call: Callable[[Request], Reply], request: Request) -> Iterator[Reply]:
    """Yield every page in turn; `request` is changed to ask for the next one."""
    request.pagination.limit = PAGE_LIMIT
    while True:
        reply = call(request)
        yield reply
        if not reply.pagination.next_cursor:
            return
        request.pagination.after = reply.pagination.next_cursor
