"""Templates of the console: Jinja2 with autoescaping, compiled once."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

_FOLDER = Path(__file__).with_name("templates")


class Templates:
    """Renders the templates of this package. A name that a template lacks is an error."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(_FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template as a response."""
        return HTMLResponse(self._environment.get_template(name).render(values), status)
