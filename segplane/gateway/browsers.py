"""Requests that a web page made its reader's browser send.

A gateway that asks for no credential trusts whoever reaches its port, and a browser on the machine
reaches it for any page. Such requests have the page's host name, origin or content type.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from meta.process.host_names import HostNames
from segplane.gateway.http import metrics
from segplane.gateway.http.refusals import Misdirected, NotAllowed, QueryRefusal, WrongMediaType
from segplane.gateway.http.responses import refuse
from segplane.gateway.iceberg.access import oauth

_HEALTH = "/healthz"
_CONSOLE = ("/", "/ui", "/ui/")
_JSON = "application/json"
# A form by its standard, which has its caller's credential.
_TOKEN_PATH = f"/iceberg/{oauth.PATH}"


@dataclass(frozen=True, slots=True)
class BrowserGuard:
    """ASGI middleware that refuses the requests of foreign pages.

    `hosts` are the names that are answered to; None = any. With `asks_credential` a request without
    a token is refused for that, so that its origin and content type do not matter. Paths of a
    console are left to its own policy, which is stricter and takes forms.
    """

    application: ASGIApp
    hosts: HostNames | None
    asks_credential: bool
    has_console: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        try:
            if scope["type"] == "http" and not self._is_exempt(scope["path"]):
                self._check(scope)
        except QueryRefusal as refusal:
            metrics.FOREIGN_REQUESTS.labels(refusal.type).inc()
            await refuse(refusal)(scope, receive, send)
            return
        await self.application(scope, receive, send)

    def _is_exempt(self, path: str) -> bool:
        is_console = path in _CONSOLE or path.startswith(_CONSOLE[-1])
        return path == _HEALTH or (self.has_console and is_console)

    def _check(self, scope: Scope) -> None:
        """Raise QueryRefusal for a request of a foreign page."""
        hosts = list(_values(scope, b"host"))
        if self.hosts is not None:
            port = (scope.get("server") or (None, None))[1]
            if len(hosts) != 1 or not self.hosts.include(hosts[0], port):
                # The name is not repeated: whoever claims it also reads the answer.
                raise Misdirected(
                    "the request is for a host name that is not this gateway's: GATEWAY_HOSTS"
                    " lists its names"
                )
        if not self.asks_credential and not _has_bearer(scope):
            _check_page(scope, hosts[0] if hosts else "")


def _check_page(scope: Scope, host: str) -> None:
    for origin in _values(scope, b"origin"):
        if origin.partition("://")[2].lower() != host.lower():
            raise NotAllowed(
                f"the request comes from a page of {origin[:80]!r}: without a bearer token only"
                " the gateway's own origin may send one"
            )
    if "cross-site" in _values(scope, b"sec-fetch-site"):
        raise NotAllowed("the request comes from a page of another site, without a bearer token")
    lengths = set(_values(scope, b"content-length")) - {"0"}
    has_body = lengths or any(_values(scope, b"transfer-encoding"))
    if has_body and scope["path"] != _TOKEN_PATH:
        sent = ", ".join(_values(scope, b"content-type"))
        if sent.partition(";")[0].strip().lower() != _JSON:
            raise WrongMediaType(
                f"content-type is {sent[:80]!r}: without a bearer token send the header"
                f" Content-Type: {_JSON}"
            )


def _has_bearer(scope: Scope) -> bool:
    parts = [value.split() for value in _values(scope, b"authorization")]
    return any(len(part) > 1 and part[0].lower() == "bearer" for part in parts)


def _values(scope: Scope, name: bytes) -> Iterator[str]:
    return (value.decode("latin-1").strip() for key, value in scope["headers"] if key == name)
