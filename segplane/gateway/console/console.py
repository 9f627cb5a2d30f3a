"""Routes below /ui/: each request has a viewer before it reaches a page."""

from functools import partial
from typing import Protocol

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from segplane.gateway.console import tenancy
from segplane.gateway.console.forms import read_form
from segplane.gateway.console.page_slots import PageSlots
from segplane.gateway.console.pages.access import AccessPages
from segplane.gateway.console.pages.around import AroundPages
from segplane.gateway.console.pages.datasets import DatasetPages
from segplane.gateway.console.pages.downloads import DownloadPages
from segplane.gateway.console.pages.find import FindPages
from segplane.gateway.console.pages.live import LivePages
from segplane.gateway.console.pages.log_list import LogListPages
from segplane.gateway.console.pages.logs import LogPages
from segplane.gateway.console.pages.merges import MergePages
from segplane.gateway.console.pages.metrics import MetricPages
from segplane.gateway.console.pages.pipeline import PipelinePages
from segplane.gateway.console.pages.quarantine import QuarantinePages
from segplane.gateway.console.pages.query import QueryPages
from segplane.gateway.console.pages.saved_views import SavedViewPages
from segplane.gateway.console.pages.streams import StreamPages
from segplane.gateway.console.pages.tenants import TenantPages, choices
from segplane.gateway.console.pages.traces import TracePages
from segplane.gateway.console.pages.versions import VersionPages
from segplane.gateway.console.policy import BrowserPolicy
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import LoginNeeded, Page, Viewer
from segplane.gateway.http.paths import Paths
from segplane.gateway.http.refusals import QueryRefusal, TenantNeeded
from segplane.gateway.http.responses import Endpoint, answered
from segplane.gateway.queries.service import QueryService

_SEE_OTHER = 303
_SAFE_METHODS = ("GET", "HEAD")
_PAGES = (
    *(DatasetPages, LogListPages, LogPages, AroundPages, DownloadPages, TracePages, FindPages),
    *(
        QueryPages,
        SavedViewPages,
        StreamPages,
        PipelinePages,
        MergePages,
        QuarantinePages,
        AccessPages,
        MetricPages,
        VersionPages,
        TenantPages,
    ),
)


class Visitors(Protocol):
    """Sessions, as the console sees them."""

    async def find(self, request: Request) -> Viewer:
        """Return the viewer of a request. Raises LoginNeeded, QueryRefusal."""

    def endpoints(self) -> dict[str, Endpoint]:
        """Return the routes of login, renewal and logout, which need no viewer."""

    def login(self, request: Request, message: str) -> Response:
        """Return the answer to a request that needs a login; "" = there is no more to say."""


class Console:
    """Answers below /ui/, pages and their refusals as HTML.

    A page that takes a form finds its fields in `request.state.form`; its token is checked before.
    `request.state.server_address` is the gateway's URL as the person's programs reach it.
    """

    def __init__(
        self,
        queries: QueryService,
        visitors: Visitors,
        policy: BrowserPolicy,
        templates: Templates,
    ) -> None:
        self._visitors = visitors
        self._policy = policy
        self._templates = templates
        self._slots = PageSlots(queries.settings)
        self._live = LivePages(queries, templates, self._slots, visitors.find)
        pages: dict[str, Page] = {
            route: page
            for kind in _PAGES
            for route, page in kind(queries, self._templates).pages().items()
        }
        pages |= self._live.pages()
        self._templates.navigate(pages)
        own_endpoints = {route: partial(self._answer, route, page) for route, page in pages.items()}
        endpoints = own_endpoints | self._templates.static_files.endpoints() | visitors.endpoints()
        self._paths = Paths(endpoints, templates.refusal)

    async def respond(self, request: Request) -> tuple[str, Response]:
        """Answer a request; the name of its route comes with the answer."""
        try:
            self._policy.check(request)
            request = tenancy.enter(request)
            request.state.server_address = self._policy.address(request)
            name, response = await self._paths.respond(request)
        except QueryRefusal as refusal:
            name, response = "ui-refused", self._templates.refusal(refusal)
        self._policy.protect(response)
        return name, response

    async def welcome(self, request: Request) -> tuple[str, Response]:
        """Lead from / to the console."""
        try:
            self._policy.check(request)
            response: Response = RedirectResponse(f"{self._policy.root}/ui/", _SEE_OTHER)
        except QueryRefusal as refusal:
            response = self._templates.refusal(refusal)
        self._policy.protect(response)
        return "ui-welcome", response

    def drain(self) -> None:
        """End what would outlive the requests of a gateway that ends; on the event loop."""
        self._live.drain()

    async def _answer(self, route: str, page: Page, request: Request) -> tuple[str, Response]:
        # A part that htmx asks for replaces a part of a page, and so does its refusal.
        is_part = request.headers.get("hx-request") == "true"
        refused = partial(self._templates.refusal, is_part=is_part)
        return await answered(_name(route), partial(self._respond, route, page), refused, request)

    async def _respond(self, route: str, page: Page, request: Request) -> Response:
        try:
            viewer = await self._visitors.find(request)
        except LoginNeeded as needed:
            return self._visitors.login(request, str(needed))
        except TenantNeeded as needed:
            offered = choices(needed, request)
            return self._templates.page("tenants/choice.html", choices=offered)
        if request.method not in _SAFE_METHODS:
            request.state.form = await read_form(request, viewer.form_token)
        make = partial(page, request, viewer)
        return await self._slots.respond(route, viewer.caller.name, request, make)


def _name(route: str) -> str:
    """Return the name of a route in metrics, such as `ui-logs`."""
    return "-".join(part for part in route.split("/")[1:] if part and part[0] != "{")
