"""The list of datasets, where the console begins."""

from starlette.requests import Request
from starlette.responses import Response

from meta.v1 import catalog_pb2
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.queries.service import QueryService


class DatasetPages:
    """Pages about datasets."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {"GET /ui/": self._list}

    async def _list(self, _: Request, viewer: Viewer) -> Response:
        request = catalog_pb2.ListDatasetsRequest()
        reply = await self._queries.read_catalog(
            viewer.caller, lambda client: client.catalog.ListDatasets(request)
        )
        return self._templates.page("datasets.html", viewer=viewer, datasets=reply.items)
