"""Sessions of a gateway's visitors: the viewer of each request, login and logout."""

import time
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from meta.client.addresses import network_of
from meta.errors import MetaError
from segplane.gateway.console.forms import read_form
from segplane.gateway.console.policy import BrowserPolicy
from segplane.gateway.console.sessions.codes import OneTimeCodes
from segplane.gateway.console.sessions.cookies import (
    PART_BYTES_MAX,
    PARTS_MAX,
    Cookie,
    CookieTooLarge,
)
from segplane.gateway.console.sessions.sealing import Sealer
from segplane.gateway.console.sessions.session import (
    LOGIN_SECS,
    SESSION_SECS,
    LoginVisit,
    Session,
    largest_claim,
    new_id,
    session_of,
    visit_of,
)
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import LoginNeeded, Viewer
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.failures import failure_of
from segplane.gateway.http.readers import CatalogReader, CatalogReaders
from segplane.gateway.http.refusals import NotAllowed, NotKnown, QueryRefusal
from segplane.gateway.http.responses import Endpoint, answered
from segplane.login.issuer import expiry_of

_SEE_OTHER = 303
_LOGIN = "/ui/login"
_GATEWAY = "gateway"


class SessionVisitors:
    """Visitors with a session cookie, which a login gives them; used on the event loop."""

    def __init__(
        self,
        settings: ConsoleSettings,
        readers: CatalogReaders,
        templates: Templates,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._policy = BrowserPolicy(settings.public_url)
        self._has_changes = settings.has_changes
        self._readers = readers
        self._templates = templates
        self._clock = clock
        self._sealer = Sealer(settings.keys)
        is_public = settings.public_url is not None
        self._sessions = Cookie(self._sealer, is_public, "", round(SESSION_SECS), False)
        self._visits = Cookie(self._sealer, is_public, "-login", round(LOGIN_SECS), True)
        # Behind a public URL each person has a credential of their own.
        self._codes = None if is_public else OneTimeCodes(settings.keys, clock)

    def endpoints(self) -> dict[str, Endpoint]:
        """Return the routes of login and logout, which need no viewer."""
        routes: dict[str, Callable[[Request], Awaitable[Response]]] = {
            f"GET {_LOGIN}": self._show_login,
            f"POST {_LOGIN}": self._log_in,
            "POST /ui/logout": self._log_out,
        }
        return {
            route: partial(answered, "ui-login", respond, self._templates.refusal)
            for route, respond in routes.items()
        }

    async def find(self, request: Request) -> Viewer:
        """Return the viewer of a request. Raises LoginNeeded, QueryRefusal."""
        session = self._session(request)
        if session is None:
            raise LoginNeeded
        (form_token, *_) = self._sealer.form_tokens(session.id)
        if not session.token:
            return Viewer(Caller(_GATEWAY), session.name, True, self._has_changes, form_token)
        try:
            caller, reader = await self._check(request, session.token)
        except NotKnown:
            # It was revoked or has expired.
            raise LoginNeeded from None
        return Viewer(caller, reader.subject, may_change=True, form_token=form_token)

    def login(self, request: Request) -> Response:
        """Return the way to the login page, and keep the way back in a cookie."""
        if request.method != "GET" or request.headers.get("sec-fetch-mode", "navigate") != (
            "navigate"
        ):
            # A part of a page cannot show the login page in its place.
            return self._templates.refusal(
                NotKnown("the session has ended: load the page again to log in")
            )
        response = self._redirect(_LOGIN)
        # It fits, since an address has at most 4 KiB.
        visit = LoginVisit(new_id(), self._clock() + LOGIN_SECS, _way_back(request))
        self._visits.write(request, response, visit.fields())
        return response

    async def _show_login(self, request: Request) -> Response:
        """Show the login page, or exchange a one-time code for a session."""
        if "code" in request.query_params:
            return self._spend(request)
        return self._login_page(request)

    def _spend(self, request: Request) -> Response:
        port = (request.scope.get("server") or (None, 0))[1] or 0
        code = request.query_params["code"]
        if self._codes is None or not self._codes.spend(code, port):
            message = (
                "the code was used, is older than ten minutes, or is not of this gateway:"
                " `segplane console` prints another"
            )
            return self._login_page(request, message)
        return self._logged_in(request, Session(new_id(), _GATEWAY, self._clock() + SESSION_SECS))

    async def _log_in(self, request: Request) -> Response:
        """Take a pasted access token."""
        visit = self._visit(request)
        if visit is None:
            return self._login_page(request, "the login page was open for too long: try again")
        fields = await read_form(request, *self._sealer.form_tokens(visit.id))
        token = fields.get("token", "").strip()
        try:
            _, reader = await self._check(request, token)
        except (NotKnown, NotAllowed) as refusal:
            return self._login_page(request, str(refusal), refusal.status)
        now = self._clock()
        ends_at = min(now + SESSION_SECS, expiry_of(token) or float("inf"))
        return self._logged_in(request, Session(new_id(), reader.subject, ends_at, token))

    async def _log_out(self, request: Request) -> Response:
        """End the session, also one whose token is not valid any more."""
        session = self._session(request)
        if session is not None:
            await read_form(request, *self._sealer.form_tokens(session.id))
        response = self._redirect(_LOGIN)
        self._sessions.delete(request, response)
        self._visits.delete(request, response)
        # Cookies would be those of the whole domain, of every port of this machine too.
        response.headers["Clear-Site-Data"] = '"cache", "storage"'
        return response

    async def _check(self, request: Request, token: str) -> tuple[Caller, CatalogReader]:
        """Have meta check a person's token. Raises QueryRefusal."""
        header, host = f"Bearer {token}", _network(request)
        try:
            # Refuses the gateway's own token, and any of a meta that asks for none.
            caller = await self._readers.find_author(header, host)
            return caller, await self._readers.find(header, host)
        except MetaError as error:
            raise failure_of(error) or QueryRefusal(str(error)) from error

    def _logged_in(self, request: Request, session: Session) -> Response:
        visit = self._visit(request)
        response = self._redirect(visit.way_back if visit else "/ui/")
        try:
            self._sessions.write(request, response, session.fields())
        except CookieTooLarge:
            return self._login_page(request, _too_large(session.token), 400)
        self._visits.delete(request, response)
        return response

    def _login_page(self, request: Request, message: str = "", status: int = 0) -> Response:
        visit = self._visit(request) or LoginVisit(new_id(), self._clock() + LOGIN_SECS)
        (form_token, *_) = self._sealer.form_tokens(visit.id)
        response = self._templates.page(
            "login.html",
            status or (403 if message else 200),
            message=message,
            form_token=form_token,
            takes_codes=self._codes is not None,
            way_back=visit.way_back,
        )
        self._visits.write(request, response, visit.fields())
        return response

    def _session(self, request: Request) -> Session | None:
        fields = self._sessions.read(request)
        return None if fields is None else session_of(fields, self._clock())

    def _visit(self, request: Request) -> LoginVisit | None:
        fields = self._visits.read(request)
        return None if fields is None else visit_of(fields, self._clock())

    def _redirect(self, path: str) -> Response:
        return RedirectResponse(f"{self._policy.root}{path}", _SEE_OTHER)


def _network(request: Request) -> str:
    """Return the network of the person's address, by which guesses are throttled."""
    return network_of(request.client.host) if request.client else ""


def _way_back(request: Request) -> str:
    """Return the address of a request, as a path below /ui/."""
    query = request.scope["query_string"]
    way_back: bytes = request.scope["raw_path"] + (b"?" + query if query else b"")
    return way_back.decode("ascii") if way_back.isascii() else "/ui/"


def _too_large(token: str) -> str:
    claim = largest_claim(token)
    cause = f"shorten its claim {claim[:80]!r} at the issuer" if claim else "use a shorter one"
    return (
        f"the token is too large for a session of {PARTS_MAX} cookies of {PART_BYTES_MAX:,} bytes:"
        f" {cause}"
    )
