"""Styles, scripts and images of the console, at addresses that change with their content."""

from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.http.paths import values_of
from segplane.gateway.http.refusals import NotThere
from segplane.gateway.http.responses import Endpoint, answered, refuse

_FOLDER = Path(__file__).with_name("static")
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    # The name has a hash of the content, so that an address never gets another one.
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
_HASH_LENGTH = 16


class StaticFiles:
    """The files of the package's folder, read once; they need no viewer."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}
        self._contents: dict[str, tuple[bytes, str]] = {}
        for path in sorted(_FOLDER.rglob("*")):
            if media_type := _MEDIA_TYPES.get(path.suffix):
                content = path.read_bytes()
                digest = sha256(content).hexdigest()[:_HASH_LENGTH]
                address = f"{path.stem}.{digest}{path.suffix}"
                self._addresses[path.name] = address
                self._contents[address] = content, media_type

    def address(self, name: str) -> str:
        """Return the address of a file by its name without a folder."""
        return f"/ui/static/{self._addresses[name]}"

    def endpoints(self) -> dict[str, Endpoint]:
        """Return the route of the files."""
        return {"GET /ui/static/{file}": self._answer}

    async def _answer(self, request: Request) -> tuple[str, Response]:
        return await answered("ui-static", self._respond, refuse, request)

    async def _respond(self, request: Request) -> Response:
        try:
            content, media_type = self._contents[values_of(request)["file"]]
        except KeyError:
            raise NotThere("there is no such file: load the page again") from None
        return Response(content, headers=_HEADERS, media_type=media_type)
