"""Templates of the console: Jinja2 with autoescaping, compiled once."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from segplane.gateway.console.logs.page import severity_class, time_text
from segplane.gateway.console.visible_text import time_element, visible
from segplane.gateway.http.refusals import QueryRefusal

_FOLDER = Path(__file__).with_name("templates")
# Those that return HTML have escaped what they were given.
FILTERS: dict[str, Callable[..., str]] = {
    "visible": visible,
    "time": time_element,
    "time_of_nanos": time_text,
    "severity_class": severity_class,
    "shell": shlex.quote,
}


class Templates:
    """Renders the templates of this package. A name that a template lacks is an error."""

    def __init__(self, root: str = "") -> None:
        self._environment = Environment(
            loader=FileSystemLoader(_FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= FILTERS
        # Precedes /ui/ in every address of a page: the path of the public URL.
        self._environment.globals["root"] = root

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template as a response."""
        return HTMLResponse(self._environment.get_template(name).render(values), status)

    def refusal(self, refusal: QueryRefusal) -> HTMLResponse:
        """Render the page of a refusal."""
        response = self.page("refused.html", refusal.status, message=str(refusal))
        response.headers.update(refusal.headers())
        return response
