"""The pipeline, and what will be deleted."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.operate.deletion import DELETION_PATH, PLAN_SECS, read_deletion
from segplane.gateway.console.operate.pipeline import read_pipeline
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.operate.showing import show
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.service import QueryService

_NAME_CHARACTERS_MAX = 255


class PipelinePages:
    """Pages about the stages between a commit and deletion."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {"GET /ui/pipeline": self._pipeline, f"GET {DELETION_PATH}": self._deletion}

    async def _pipeline(self, request: Request, viewer: Viewer) -> Response:
        reading = await self._reads.read(viewer, "pipeline", read_pipeline)
        return await show(self._templates, "pipeline", request, viewer, reading, "Pipeline")

    async def _deletion(self, request: Request, viewer: Viewer) -> Response:
        dataset = request.query_params.get("dataset", "")
        if len(dataset) > _NAME_CHARACTERS_MAX:
            raise QueryRefusal(f"the name has {len(dataset):,} characters, expected at most 255")
        # Meta names a pin to its owner, and each of them to administrators.
        has_owners = viewer.uses_gateway_rights or viewer.rights[0] == "admin"
        read = partial(read_deletion, dataset=dataset, has_owners=has_owners)
        reading = await self._reads.read(viewer, ("deletion", dataset), read, kept_secs=PLAN_SECS)
        return await show(self._templates, "deletion", request, viewer, reading, "Deletion")
