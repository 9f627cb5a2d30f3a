"""Pages that load their content again while they are visible."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.operate.shared_reads import REFRESH_SECS, Reading
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Viewer


async def show(
    templates: Templates,
    name: str,
    request: Request,
    viewer: Viewer,
    reading: Reading[Any],
    active: str,
    **values: Any,
) -> Response:
    """Render a page of templates/operate, or what htmx asks for of it: its block `live`."""
    is_part = request.headers.get("hx-request") == "true"
    query = request.scope["query_string"].decode("ascii", errors="replace")
    address = request.scope["raw_path"].decode("ascii", errors="replace")
    return await templates.large_page(
        f"operate/{name}.html",
        base="operate/live.html" if is_part else "layout.html",
        viewer=viewer,
        active=active,
        shown=reading.value,
        read_time=reading.time,
        address=f"{address}?{query}" if query else address,
        refresh_secs=REFRESH_SECS,
        # 0 = the reading is the person's alone.
        shared_secs=0 if reading.is_personal else int(reading.kept_secs),
        **values,
    )
