"""Access: subjects, roles and tokens, denied calls, and the audit log with differences."""

import time
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.operate.access import ACCESS_PATH, AuditAsk, read_access
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.operate.showing import show
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.management.times import text_of
from segplane.gateway.queries.service import QueryService

_CHARACTERS_MAX = 255


class AccessPages:
    """The page about access."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {f"GET {ACCESS_PATH}": self._page}

    async def _page(self, request: Request, viewer: Viewer) -> Response:
        ask = _asked(request)
        read = partial(read_access, ask=ask, now=text_of(time.time_ns()))
        reading = await self._reads.read(viewer, ("access", ask), read)
        return await show(self._templates, "access", request, viewer, reading, "Access")


def _asked(request: Request) -> AuditAsk:
    """Return the filters of an address. Raises QueryRefusal."""
    names = ("principal", "call", "entry")
    values = [request.query_params.get(name, "").strip() for name in names]
    for name, value in zip(names, values, strict=True):
        if len(value) > _CHARACTERS_MAX:
            raise QueryRefusal(f"{name} has {len(value):,} characters, expected at most 255")
    before = request.query_params.get("before", "0")
    if not before.isascii() or not before.isdecimal() or len(before) > 18:
        raise QueryRefusal(f"before is {before[:40]!r}, expected the number of a record")
    principal, call, entry = values
    return AuditAsk(principal, call, entry, int(before))
