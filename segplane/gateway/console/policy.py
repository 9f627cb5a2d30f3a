"""Browser policy of the console: who may ask, and the headers of each answer."""

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from meta.process.host_names import host_names
from segplane.gateway.http.public_url import PublicUrl
from segplane.gateway.http.refusals import Misdirected, NotAllowed, QueryRefusal

ADDRESS_BYTES_MAX = 4_096
_LOOPBACK = host_names(("localhost", "127.0.0.1", "[::1]"))
_SAFE_METHODS = ("GET", "HEAD")
_OWN_SITES = {"same-origin", "none"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class AddressTooLong(QueryRefusal):
    """The address of a page, which holds the search, is too long."""

    status = 414
    type = "AddressTooLong"


@dataclass(frozen=True, slots=True)
class BrowserPolicy:
    """Rules for requests below /ui/; None = the console is for people on this machine."""

    public_url: PublicUrl | None

    @property
    def root(self) -> str:
        """Path that precedes /ui/ in the addresses of pages; "" = none."""
        return self.public_url.path if self.public_url else ""

    def address(self, request: Request) -> str:
        """Return the URL of the gateway, without a slash at its end."""
        return self.public_url.address if self.public_url else str(request.base_url).rstrip("/")

    def check(self, request: Request) -> None:
        """Raise QueryRefusal for a request of another host, site or origin."""
        hosts = list(_values(request, "host"))
        accepted = self.public_url.hosts if self.public_url else _LOOPBACK
        port = (request.scope.get("server") or (None, None))[1]
        if len(hosts) != 1 or not accepted.include(hosts[0], port):
            raise Misdirected(
                "the console answers to the host of GATEWAY_PUBLIC_URL, or to names of this machine"
                " such as localhost where that is not set"
            )
        size_bytes = len(request.scope["raw_path"]) + len(request.scope["query_string"])
        if size_bytes > ADDRESS_BYTES_MAX:
            raise AddressTooLong(
                f"the address has {size_bytes:,} bytes, at most {ADDRESS_BYTES_MAX:,} are taken:"
                " shorten the search"
            )
        sites = set(_values(request, "sec-fetch-site"))
        if sites - _OWN_SITES and not _is_navigation(request):
            raise NotAllowed("the request comes from a page of another site")
        if request.method not in _SAFE_METHODS:
            own_origin = f"{request.scope['scheme']}://{hosts[0].lower()}"
            _check_origin(request, self.public_url.origin if self.public_url else own_origin)

    def protect(self, response: Response) -> None:
        """Add the headers of every answer; only static files may be kept by the browser."""
        for name, value in _HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")


def _is_navigation(request: Request) -> bool:
    modes = list(_values(request, "sec-fetch-mode"))
    targets = set(_values(request, "sec-fetch-dest"))
    return request.method == "GET" and modes == ["navigate"] and targets <= {"document"}


def _check_origin(request: Request, own_origin: str) -> None:
    origins = list(_values(request, "origin"))
    # A form of a page with `Referrer-Policy: no-referrer` sends the origin null (Fetch, 3.2). Pages
    # cannot set Sec-Fetch-Site, which then tells where it comes from.
    is_own_form = origins == ["null"] and list(_values(request, "sec-fetch-site")) == [
        "same-origin"
    ]
    if origins != [own_origin] and not is_own_form:
        raise NotAllowed("a form is taken from a page of the console itself only")


def _values(request: Request, name: str) -> Iterator[str]:
    return (value.strip() for value in request.headers.getlist(name))
