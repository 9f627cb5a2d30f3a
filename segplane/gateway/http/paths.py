"""Routes below /v1, matched on the raw path: each of its parts is decoded by itself.

So a name may hold any character but the slash: a part with an encoded slash is of no route, and
`a%2Fpreview` is not a preview of `a`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.http.refusals import MethodRefused, NotThere, QueryRefusal
from segplane.gateway.http.responses import Endpoint, refuse

# Key of a request's scope for the path of its route, such as /v1/views/{name}.
ROUTE = "segplane.route"
_DATASET = "/v1/datasets/{name}"
# Ways to a thing that has a name: of the default group, of another group, and any by its id.
_WAYS = {
    _DATASET: (_DATASET, "/v1/groups/{group}/datasets/{name}", "/v1/dataset-ids/{id}"),
    **{
        f"/v1/{noun}s/{{name}}": (f"/v1/{noun}s/{{name}}", f"/v1/{noun}-ids/{{id}}")
        for noun in ("group", "schema", "view", "projection")
    },
}


def ways_of(path: str) -> Iterator[str]:
    """Yield a path such as /v1/datasets/{name}/preview, by each way to what it names."""
    for kind, ways in _WAYS.items():
        if path == kind or path.startswith(f"{kind}/"):
            yield from (way + path.removeprefix(kind) for way in ways)
            return
    yield path


class Paths:
    """Endpoints by method and path, such as `GET /v1/views/{name}`.

    `refused` makes the answer to a request of no route.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        refused: Callable[[QueryRefusal], Response] = refuse,
    ) -> None:
        self._refused = refused
        routes: dict[tuple[str, ...], dict[str, Endpoint]] = defaultdict(dict)
        for route, endpoint in endpoints.items():
            method, _, path = route.partition(" ")
            for way in ways_of(path):
                routes[tuple(way.split("/"))][method] = endpoint
        # A literal part precedes one with a value, which begins with a brace.
        self._routes = sorted(routes.items())

    async def respond(self, request: Request) -> tuple[str, Response]:
        """Answer a request by its endpoint."""
        try:
            endpoint = self._find(request)
        except QueryRefusal as refusal:
            return "none", self._refused(refusal)
        return await endpoint(request)

    def _find(self, request: Request) -> Endpoint:
        """Return the endpoint of a request, which gets the values of the path's parts."""
        parts = _parts_of(request.scope["raw_path"])
        for path, methods in self._routes:
            values = _values_of(path, parts)
            if values is None:
                continue
            request.scope[ROUTE] = "/".join(path)
            if request.method not in methods:
                raise MethodRefused(request.method[:80], ", ".join(sorted(methods)))
            request.scope["path_params"] = values
            return methods[request.method]
        raise NotThere("there is no such route: /v1/openapi.json has all of them")


def values_of(request: Request) -> Mapping[str, str]:
    """Return the values of a path's parts; the name of a dataset of a group has the group."""
    values: Mapping[str, str] = request.path_params
    if "group" in values and "name" in values:
        return {**values, "name": f"{values['group']}/{values['name']}"}
    return values


def _parts_of(raw_path: bytes) -> list[str]:
    """Return the decoded parts of a path. Raises NotThere."""
    parts = [unquote_to_bytes(part) for part in raw_path.split(b"/")]
    if any(b"/" in part for part in parts):
        raise NotThere("a part of the path holds a slash: such a dataset is named by its id")
    try:
        return [part.decode() for part in parts]
    except UnicodeDecodeError:
        raise NotThere("the path is not UTF-8") from None


def _values_of(path: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    """Return the values of a path's parts, None if the path is another one."""
    if len(path) != len(parts):
        return None
    values = {}
    for expected, part in zip(path, parts, strict=True):
        if expected.startswith("{") and part:
            values[expected[1:-1]] = part
        elif expected != part:
            return None
    return values
