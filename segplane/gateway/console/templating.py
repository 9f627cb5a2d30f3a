"""Templates of the console: Jinja2 with autoescaping, compiled once."""

import shlex
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.responses import HTMLResponse

from segplane.gateway.console import tenancy
from segplane.gateway.console.logs.page import severity_class, time_text
from segplane.gateway.console.static_files import StaticFiles
from segplane.gateway.console.visible_text import Marks, marked, time_element
from segplane.gateway.http.refusals import QueryRefusal

_FOLDER = Path(__file__).with_name("templates")
# Pages of the bar at the top, where they are served.
_NAVIGATION = {
    "Datasets": "/ui/",
    "Logs": "/ui/logs",
    "Traces": "/ui/traces",
    "Metrics": "/ui/metrics",
    "Query": "/ui/query",
    "Dataset": "/ui/dataset",
    "Pipeline": "/ui/pipeline",
    "Streams": "/ui/streams",
    "Merges": "/ui/merges",
    "Deletion": "/ui/deletion",
    "Quarantine": "/ui/quarantine",
    "Access": "/ui/access",
    "Tenants": "/ui/tenants",
}
# Pages of one dataset, which they are offered with.
_OF_DATASET = ("Logs", "Traces", "Metrics", "Dataset")
# Pages about the whole installation, which readers may not see.
_OF_INSTALLATION = ("Pipeline", "Streams", "Merges", "Deletion", "Quarantine", "Access", "Tenants")
# Those of them that the people of a tenant see, as far as they are about the tenant.
_OF_TENANT = ("Quarantine",)


@pass_context
def _visible(page: Context, text: str, terms: Sequence[str] = ()) -> Markup:
    # A macro that is imported without the page's context has none of its marks.
    marks: Marks = page.get("marks") or Marks()
    return marks.visible(text, terms)


# Those that return HTML have escaped what they were given.
FILTERS: dict[str, Callable[..., str]] = {
    "visible": _visible,
    "marked": marked,
    "time": time_element,
    "time_of_nanos": time_text,
    "severity_class": severity_class,
    "shell": shlex.quote,
}


class Templates:
    """Renders the templates of this package. A name that a template lacks is an error.

    `root` is the path of the public URL: it precedes /ui/ in the addresses of pages.
    """

    def __init__(self, root: str = "") -> None:
        self._environment = Environment(
            loader=FileSystemLoader(_FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= FILTERS
        self._root = root
        self.static_files = StaticFiles()
        self._environment.globals["static"] = self.static_files.address
        # Pages without a viewer, such as refusals and the login, have a bar without links.
        frame = {"viewer": None, "active": "", "active_dataset": "", "navigation": ()}
        self._environment.globals.update(frame)

    def navigate(self, routes: Collection[str]) -> None:
        """Let the bar at the top have the pages that are among the routes."""
        self._environment.globals["navigation"] = [
            {
                "name": name,
                "path": path,
                "is_of_dataset": name in _OF_DATASET,
                "is_of_installation": name in _OF_INSTALLATION,
                "is_of_tenant": name in _OF_TENANT,
            }
            for name, path in _NAVIGATION.items()
            if f"GET {path}" in routes
        ]

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template as a response."""
        frame = {"marks": Marks(), "tenant": tenancy.shown()}
        html = self._environment.get_template(name).render({**frame, **values})
        return HTMLResponse(tenancy.addressed(html, self._root), status)

    async def large_page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template in a thread, so that other requests do not wait for it."""
        return await to_thread.run_sync(partial(self.page, name, status, **values))

    def refusal(self, refusal: QueryRefusal, *, is_part: bool = False) -> HTMLResponse:
        """Render the page of a refusal, or a part of a page."""
        name = "refused_part.html" if is_part else "refused.html"
        response = self.page(name, refusal.status, refusal=refusal)
        response.headers.update(refusal.headers())
        return response
