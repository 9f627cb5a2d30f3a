"""Visitors of a console whose sessions are not under test: everybody has the gateway's rights."""

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.responses import Endpoint


class AnyVisitors:
    """One viewer for all requests."""

    def __init__(self, viewer: Viewer | None = None) -> None:
        self._viewer = viewer or Viewer(Caller("gateway"), "gateway", uses_gateway_rights=True)

    async def find(self, _: Request) -> Viewer:
        """Return the viewer."""
        return self._viewer

    def endpoints(self) -> dict[str, Endpoint]:
        """Return no routes of login."""
        return {}

    def login(self, _: Request, message: str) -> Response:
        """Refuse; nobody needs it."""
        return Response(status_code=401)
