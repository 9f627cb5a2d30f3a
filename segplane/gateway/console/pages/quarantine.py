"""The quarantine: counts by cause and dataset, and payloads as downloads. It changes nothing."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.operate.quarantine import (
    QUARANTINE_PATH,
    QuarantineAsk,
    read_payload,
    read_quarantine,
)
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.operate.showing import show
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.service import QueryService

# A page reads up to 10,000 notes in the bucket.
_KEPT_SECS = 60.0
_CHARACTERS_MAX = 1_024


class QuarantinePages:
    """The page of the quarantine, and its downloads."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            f"GET {QUARANTINE_PATH}": self._page,
            f"GET {QUARANTINE_PATH}/payload": self._payload,
        }

    async def _page(self, request: Request, viewer: Viewer) -> Response:
        ask = QuarantineAsk(*(_asked(request, name) for name in ("dataset", "cause", "after")))
        read = partial(read_quarantine, queries=self._queries, ask=ask)
        reading = await self._reads.read(viewer, ("quarantine", ask), read, kept_secs=_KEPT_SECS)
        return await show(self._templates, "quarantine", request, viewer, reading, "Quarantine")

    async def _payload(self, request: Request, viewer: Viewer) -> Response:
        key = _asked(request, "key")
        read = partial(read_payload, queries=self._queries, key=key)
        content = await self._queries.read_catalog(viewer.caller, read)
        # Its characters are those of keys of payloads.
        name = key.rpartition("/")[2]
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)


def _asked(request: Request, name: str) -> str:
    """Return a part of an address. Raises QueryRefusal."""
    text = request.query_params.get(name, "").strip()
    if len(text) > _CHARACTERS_MAX:
        raise QueryRefusal(f"{name} has {len(text):,} characters, expected at most 1,024")
    return text
