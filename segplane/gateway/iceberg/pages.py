"""Pages of names, as Iceberg's REST specification has them."""

import re
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from meta.errors import CursorInvalid
from segplane.gateway.http.bodies import answer
from segplane.gateway.iceberg import responses
from segplane.gateway.iceberg.responses import refuse

PAGE_MAX = 1_000
_PAGE_SIZE = re.compile("[1-9][0-9]{0,8}")
# Names, and the token of the next page or "".
Page = tuple[list[str], str]


def pages_of(
    request: Request,
    page_of: Callable[[str, int], Page],
    listing_of: Callable[[list[str]], dict[str, object]],
) -> Response:
    """Answer with a page of names, or with all of them to a client that names no page."""
    token, size = (request.query_params.get(name) for name in ("pageToken", "pageSize"))
    if size is not None and not _PAGE_SIZE.fullmatch(size):
        return refuse(responses.BAD_REQUEST, f"pageSize is {size!r}, expected 1 or more")
    # A client that names neither wants all; datasets and views are bounded (META_DATASETS_MAX).
    wants_all = token is None and size is None
    limit, token = min(int(size or PAGE_MAX), PAGE_MAX), token or ""
    names: list[str] = []
    while True:
        try:
            page, token = page_of(token, limit)
        except CursorInvalid:
            return refuse(responses.BAD_REQUEST, "pageToken is none that this catalog gave")
        names += page
        if not (token and wants_all):
            break
    listing = listing_of(names)
    if token:
        listing["next-page-token"] = token
    return answer(listing)
