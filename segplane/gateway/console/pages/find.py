"""The box in the bar: a trace id leads to its trace, any other text to the logs with it."""

from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from meta.v1 import resources_pb2 as pb
from segplane.gateway.console.logs.search import CHARACTERS_MAX
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.traces.search import find_trace_id
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.service import QueryService

_DATASETS_MAX = 100


class FindPages:
    """Leads from a text to a page."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {"GET /ui/find": self._find}

    async def _find(self, request: Request, viewer: Viewer) -> Response:
        text = request.query_params.get("q", "").strip()
        dataset = request.query_params.get("dataset", "")
        if len(text) > CHARACTERS_MAX:
            raise QueryRefusal(f"the text has more than {CHARACTERS_MAX:,} characters")
        if dataset:
            # Relative to /ui/, which a proxy may serve below a path.
            return RedirectResponse(_address(text, dataset).removeprefix("/ui/"), 303)
        listing = pb.ListResourcesRequest(
            kind=pb.RESOURCE_KIND_DATASET, limit=_DATASETS_MAX, order=pb.RESOURCE_ORDER_NAME
        )
        reply = await self._queries.read_catalog(
            viewer.caller, lambda client: client.resources.ListResources(listing)
        )
        names = [f"{item.group}/{item.name}" if item.group else item.name for item in reply.items]
        return self._templates.page(
            "find.html",
            viewer=viewer,
            text=text,
            datasets=[(name, _address(text, name)) for name in names],
            has_more=bool(reply.next_cursor),
        )


def _address(text: str, dataset: str) -> str:
    """Return the address that a text leads to in a dataset."""
    trace_id = find_trace_id(text)
    path = f"/ui/traces/{trace_id}" if trace_id else "/ui/logs"
    parameters = {"dataset": dataset} | ({} if trace_id or not text else {"q": text})
    return f"{path}?{urlencode(parameters, quote_via=quote)}"
