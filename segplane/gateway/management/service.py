"""Endpoints of the table of routes: callers, bodies and versions of requests, and their answers."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from meta.client import MetaClient
from segments.location import StoreLocation
from segplane.gateway.http.bodies import BODY_BYTES_MAX, json_text, read_body
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.gateway_rights import GatewayRights
from segplane.gateway.http.paths import values_of
from segplane.gateway.http.readers import LISTING_ROLES
from segplane.gateway.http.refusals import QueryRefusal, WrongMediaType
from segplane.gateway.http.responses import Endpoint, answered, refuse
from segplane.gateway.management import json_messages, routes
from segplane.gateway.management.answers import answered_by
from segplane.gateway.management.rows import ManagementAsk, Row

_JSON = "application/json"
# When PATCH took the place of POST, as RFC 9745 has it.
_DEPRECATED_SINCE = "@1795910400"
_DOCUMENT = Path(__file__).with_name("openapi.json")
Value = TypeVar("Value")


class CatalogCalls(Protocol):
    """Calls of meta in the name of a request's caller, within the caller's limits."""

    @property
    def rights(self) -> GatewayRights:
        """The gateway's own rights, for callers whose rights were checked."""

    @property
    def store(self) -> StoreLocation | None:
        """The default store as this process is set to use it; None = as meta says."""

    async def caller(self, request: Request, roles: tuple[str, ...]) -> Caller:
        """Return the caller, of one of some roles; raises QueryRefusal."""

    async def author(self, request: Request) -> Caller:
        """Return the caller, by its own token; raises QueryRefusal."""

    async def read_catalog(self, caller: Caller, read: Callable[[MetaClient], Value]) -> Value:
        """Call meta with a caller's rights; raises QueryRefusal."""

    def deadline(self) -> float:
        """Return when a request that comes now ends."""


class Management:
    """Answers about resources; meta decides what the caller's own token may do."""

    def __init__(self, calls: CatalogCalls) -> None:
        self._calls = calls
        self._table = routes.table()

    def endpoints(self) -> dict[str, Endpoint]:
        """Return what answers each method and path."""
        respond = {route: partial(self._respond, rows) for route, rows in self._table.items()}
        return {
            route: partial(answered, route.split("/")[2], each, refuse)
            for route, each in (respond | {"GET /v1/openapi.json": _document}).items()
        }

    async def _respond(self, rows: Sequence[Row], request: Request) -> Response:
        row = rows[0]
        if row.is_open:
            caller = await self._calls.caller(request, LISTING_ROLES)
        else:
            caller = await self._calls.author(request)
        ask = ManagementAsk(
            values_of(request),
            _parameters(request),
            await _content(request) if row.method != "GET" else None,
            _versions(request),
            self._calls.deadline(),
            self._calls.store,
            self._calls.rights,
        )
        reply = await self._calls.read_catalog(
            caller, lambda client: answered_by(client, self._table, rows, ask)
        )
        headers = {"ETag": f'"{reply.version}"'} if reply.version else {}
        if row.method != "GET":
            # The answer may hold a secret.
            headers["Cache-Control"] = "no-store"
        if row.is_deprecated:
            headers["Deprecation"] = _DEPRECATED_SINCE
        text = json_messages.json_text(reply.content)
        return json_text(text, reply.status or row.status, headers)


async def _document(_: Request) -> Response:
    """Answer with the OpenAPI document, which names no resource and needs no token."""
    return json_text(_DOCUMENT.read_text())


def _parameters(request: Request) -> Mapping[str, Sequence[str]]:
    parameters: dict[str, list[str]] = defaultdict(list)
    for name, text in request.query_params.multi_items():
        parameters[name].append(text)
    return parameters


def _versions(request: Request) -> Sequence[str]:
    """Return the parts of the version in If-Match. Raises QueryRefusal."""
    sent = request.headers.get("if-match", "").strip()
    if sent in ("", "*"):
        return ()
    tag = sent.removeprefix('"').removesuffix('"')
    if sent != f'"{tag}"' or '"' in tag or not tag or len(tag) > 255:
        raise QueryRefusal("If-Match is not an ETag of this gateway: send that of the resource")
    return tag.split(".")


async def _content(request: Request) -> object:
    """Read the JSON of a change, None if there is no body; raises QueryRefusal.

    A page of another site can make a browser send any other type without asking first.
    """
    content = await read_body(request, BODY_BYTES_MAX)
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_from_anybody = request.method == "POST" and "authorization" not in request.headers
    if sent != _JSON and (content or is_from_anybody):
        raise WrongMediaType(f"content-type is {sent[:80]!r}, expected {_JSON}")
    if not content:
        return None
    try:
        return json_messages.parse(content)
    except (ValueError, RecursionError) as error:
        raise QueryRefusal(f"the body is not JSON: {error}") from None
