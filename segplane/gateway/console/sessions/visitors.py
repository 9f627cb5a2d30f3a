"""Sessions of a gateway's visitors: the viewer of each request, login and logout."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console import tenancy
from segplane.gateway.console.forms import read_form
from segplane.gateway.console.sessions.codes import OneTimeCodes
from segplane.gateway.console.sessions.issuer_routes import IssuerRoutes
from segplane.gateway.console.sessions.logins import LOGIN_PATH, Logins
from segplane.gateway.console.sessions.openid import IssuerClient
from segplane.gateway.console.sessions.session import SESSION_SECS, Session, new_id
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import LoginNeeded, Viewer
from segplane.gateway.http.callers import GATEWAY
from segplane.gateway.http.readers import CatalogReaders
from segplane.gateway.http.refusals import NotAllowed, NotKnown, NotThere
from segplane.gateway.http.responses import Endpoint, answered
from segplane.login.issuer import expiry_of


class SessionVisitors:
    """Visitors with a session cookie, which a login gives them; used on the event loop."""

    def __init__(
        self,
        settings: ConsoleSettings,
        readers: CatalogReaders,
        templates: Templates,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._logins = Logins(settings, readers, templates, clock)
        self._has_changes = settings.has_changes
        # Behind a public URL each person has a credential of their own.
        self._codes = None if settings.public_url else OneTimeCodes(settings.keys, clock)
        self._issuer: IssuerRoutes | None = None
        if settings.oidc.issuer and settings.public_url is not None:
            client = IssuerClient(settings.oidc, settings.public_url.address, clock)
            self._issuer = IssuerRoutes(self._logins, client)

    def endpoints(self) -> dict[str, Endpoint]:
        """Return the routes of login, renewal and logout, which need no viewer."""
        routes: dict[str, Callable[[Request], Awaitable[Response]]] = {
            f"GET {LOGIN_PATH}": self._show_login,
            f"POST {LOGIN_PATH}": self._log_in,
            "POST /ui/logout": self._log_out,
            **(self._issuer.routes() if self._issuer else {}),
        }
        return {
            route: partial(answered, "ui-login", respond, self._logins.templates.refusal)
            for route, respond in routes.items()
        }

    async def find(self, request: Request) -> Viewer:
        """Return the viewer of a request. Raises LoginNeeded, QueryRefusal."""
        session = self._logins.session(request)
        if session is None or self._logins.clock() >= session.token_ends_at:
            raise LoginNeeded
        (form_token, *_) = self._logins.sealer.form_tokens(session.id)
        if not session.token:
            return await self._gateway_viewer(request, session.name, form_token)
        try:
            caller, reader = await self._logins.check(request, session.token)
        except NotKnown:
            # It was revoked or has expired.
            raise LoginNeeded from None
        except NotAllowed as refusal:
            if tenant := tenancy.shown():
                raise NotThere(f"there is no tenant {tenant[:80]!r} that you may read") from None
            # Its role does not read any more; another login may.
            raise LoginNeeded(str(refusal)) from None
        secs = session.secs_to_renewal(self._logins.clock())
        return Viewer(
            caller,
            reader.subject.removeprefix(f"{reader.tenant}/"),
            may_change=True,
            form_token=form_token,
            rights=(reader.role, reader.scope),
            session_secs=secs,
        )

    async def _gateway_viewer(self, request: Request, name: str, form_token: str) -> Viewer:
        """Return a viewer with the gateway's rights, in the tenant of the address."""
        viewer = Viewer(GATEWAY, name, True, self._has_changes, form_token)
        if not tenancy.current():
            return viewer
        caller, reader = await self._logins.check_own(request)
        return replace(viewer, caller=caller, rights=(reader.role, reader.scope))

    def login(self, request: Request, message: str) -> Response:
        """Return the login page or the way to it or to a renewal, and keep the way back."""
        mode = request.headers.get("sec-fetch-mode", "navigate")
        if request.method != "GET" or mode != "navigate":
            # A part of a page cannot show the login page in its place.
            ended = "the session has ended: load the page again to log in"
            return self._logins.templates.refusal(NotKnown(message or ended))
        session, way_back = self._logins.session(request), _way_back(request)
        if session is not None and session.refresh_token and self._has_ended_token(session):
            return self._logins.templates.page(
                "renew.html",
                form_token=self._logins.sealer.form_tokens(session.id)[0],
                # A cookie of it could with the session's exceed the headers that proxies take.
                way_back=self._logins.seal_way_back(way_back),
            )
        if message:
            return self._logins.refused_page(request, NotAllowed(message), way_back)
        response = self._logins.redirect(LOGIN_PATH)
        # Together with the way back it could exceed the headers that proxies take.
        self._logins.drop(request, response)
        self._logins.begin_visit(request, response, way_back)
        return response

    def _has_ended_token(self, session: Session) -> bool:
        return self._logins.clock() >= session.token_ends_at

    async def _show_login(self, request: Request) -> Response:
        """Show the login page, or exchange a one-time code for a session."""
        if "code" in request.query_params:
            return self._spend(request)
        return self._logins.page(request)

    def _spend(self, request: Request) -> Response:
        port = (request.scope.get("server") or (None, 0))[1] or 0
        code = request.query_params["code"]
        if self._codes is None or not self._codes.spend(code, port):
            message = (
                "the code was used, is older than ten minutes, or is not of this gateway:"
                " `segplane console` prints another"
            )
            return self._logins.page(request, message)
        session = Session(new_id(), GATEWAY.name, self._logins.clock() + SESSION_SECS)
        return self._logins.enter(request, session)

    async def _log_in(self, request: Request) -> Response:
        """Take a pasted access token."""
        visit = self._logins.visit(request)
        if visit is None:
            return self._logins.page(request, "the login page was open for too long: try again")
        fields = await read_form(request, *self._logins.sealer.form_tokens(visit.id))
        token = fields.get("token", "").strip()
        try:
            subject = await self._logins.subject(request, token)
        except (NotKnown, NotAllowed) as refusal:
            return self._logins.page(request, str(refusal), refusal.status)
        ends_at = min(self._logins.clock() + SESSION_SECS, expiry_of(token) or float("inf"))
        return self._logins.enter(request, Session(new_id(), subject, ends_at, token))

    async def _log_out(self, request: Request) -> Response:
        """End the session, also one whose token is not valid any more."""
        session = self._logins.session(request)
        if session is not None:
            await read_form(request, *self._logins.sealer.form_tokens(session.id))
        response = self._logins.redirect(LOGIN_PATH)
        if session is not None and session.refresh_token and self._issuer is not None:
            response = await self._issuer.end(session.refresh_token)
        self._logins.leave(request, response)
        return response


def _way_back(request: Request) -> str:
    """Return the address of a request, as a path below /ui/."""
    query = request.scope["query_string"]
    way_back: bytes = request.scope["raw_path"] + (b"?" + query if query else b"")
    return tenancy.with_tenant(way_back.decode("ascii")) if way_back.isascii() else "/ui/"
