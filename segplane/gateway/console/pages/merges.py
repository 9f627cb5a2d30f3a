"""Merges: attempts over time, one task, one segment."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from segments.ids import is_canonical_uuid
from segplane.gateway.console.operate.merges import (
    MERGES_PATH,
    read_merges,
    read_segment,
    read_task,
)
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.operate.showing import show
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import NotThere
from segplane.gateway.queries.service import QueryService


class MergePages:
    """Pages about merges."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            f"GET {MERGES_PATH}": self._attempts,
            f"GET {MERGES_PATH}/task": self._task,
            f"GET {MERGES_PATH}/segment": self._segment,
        }

    async def _attempts(self, request: Request, viewer: Viewer) -> Response:
        reading = await self._reads.read(viewer, "merges", read_merges)
        return await show(self._templates, "merges", request, viewer, reading, "Merges")

    async def _task(self, request: Request, viewer: Viewer) -> Response:
        task_id = _asked_id(request, "task")
        reading = await self._reads.read(
            viewer, ("task", task_id), partial(read_task, task_id=task_id)
        )
        return await show(self._templates, "task", request, viewer, reading, "Merges")

    async def _segment(self, request: Request, viewer: Viewer) -> Response:
        segment_id = _asked_id(request, "segment")
        reading = await self._reads.read(
            viewer, ("segment", segment_id), partial(read_segment, segment_id=segment_id)
        )
        return await show(self._templates, "segment", request, viewer, reading, "Merges")


def _asked_id(request: Request, noun: str) -> str:
    """Return the id of an address. Raises NotThere."""
    text = request.query_params.get("id", "").strip()
    if not is_canonical_uuid(text):
        raise NotThere(f"there is no {noun} {text[:80]!r}: ids have 36 characters")
    return text
