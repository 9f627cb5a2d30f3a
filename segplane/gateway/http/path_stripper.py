"""Path of the public URL, which some proxies keep and others remove."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class PathStripper:
    """ASGI middleware that removes the public URL's path, which some proxies keep."""

    application: ASGIApp
    path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the path behind the prefix."""
        if scope["type"] == "http" and f"{scope['path']}/".startswith(f"{self.path}/"):
            raw_path = scope["raw_path"].removeprefix(self.path.encode())
            path = scope["path"].removeprefix(self.path)
            scope = {**scope, "path": path or "/", "raw_path": raw_path or b"/"}
        await self.application(scope, receive, send)
