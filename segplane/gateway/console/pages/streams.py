"""Streams: their rulers, those that are parked with the reason, and the page of one."""

from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from segments.ids import is_canonical_uuid
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.operate.showing import show
from segplane.gateway.console.operate.streams import (
    STATES,
    STREAMS_PATH,
    check_state,
    read_page,
    read_stream,
)
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import NotThere
from segplane.gateway.queries.service import QueryService


class StreamPages:
    """Pages about streams."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            f"GET {STREAMS_PATH}": self._list,
            f"GET {STREAMS_PATH}/{{stream_id}}": self._one,
        }

    async def _list(self, request: Request, viewer: Viewer) -> Response:
        parameters = request.query_params
        if stream_id := parameters.get("id", "").strip():
            check_stream(stream_id)
            # Relative to /ui/, which a proxy may serve below a path.
            return RedirectResponse(f"streams/{stream_id}", 303)
        state, after = check_state(parameters.get("state", "")), parameters.get("after", "")
        read = partial(read_page, state=state, after=after)
        reading = await self._reads.read(viewer, (state, after), read)
        return await show(
            self._templates,
            "streams",
            request,
            viewer,
            reading,
            "Streams",
            states=[word for word in STATES if word],
        )

    async def _one(self, request: Request, viewer: Viewer) -> Response:
        stream_id = check_stream(request.path_params["stream_id"])
        read = partial(read_stream, stream_id=stream_id)
        reading = await self._reads.read(viewer, stream_id, read)
        return await show(self._templates, "stream", request, viewer, reading, "Streams")


def check_stream(text: str) -> str:
    """Return a stream's id. Raises NotThere."""
    if not is_canonical_uuid(text):
        raise NotThere(f"there is no stream {text[:80]!r}")
    return text
