"""Routes of login by an issuer: the way there and back, renewal of sessions, and their end."""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import structlog
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from meta.secrets import is_same, random_bytes
from segplane.gateway.console.forms import read_form
from segplane.gateway.console.sessions.cookies import Cookie, CookieTooLarge
from segplane.gateway.console.sessions.logins import LOGIN_PATH, Logins
from segplane.gateway.console.sessions.openid import IssuedTokens, IssuerClient
from segplane.gateway.console.sessions.renewals import Renewals
from segplane.gateway.console.sessions.session import (
    LOGIN_SECS,
    SESSION_SECS,
    LoginAttempt,
    Session,
    attempt_of,
    new_id,
)
from segplane.gateway.http.refusals import NotAllowed, NotKnown, NotNow, QueryRefusal
from segplane.login.issuer import IssuerAway, IssuerRefused
from segplane.login.saved import LoginError

log = structlog.get_logger()
ATTEMPTS_MAX = 3
# Attempts with longer ways back would together exceed the headers that proxies take.
_WAY_BACK_BYTES_MAX = 1_500
_SECRET_BYTES = 32
_THREADS = 8
# Requests that wait for a thread: anybody may begin a login.
_WAITERS_MAX = 64
_RETRY_SECS = 2
_SEE_OTHER = 303
_OTHER_SITES = {"cross-site", "same-site"}
Value = TypeVar("Value")


class IssuerRoutes:
    """Leads people to the issuer and back; used on the event loop."""

    def __init__(self, logins: Logins, client: IssuerClient) -> None:
        self._logins = logins
        self._client = client
        self._renewals = Renewals(client.renew)
        self._threads = CapacityLimiter(_THREADS)
        self._attempts = [
            Cookie(logins.sealer, logins.is_public, f"-issuer-{slot}", round(LOGIN_SECS), True)
            for slot in range(1, ATTEMPTS_MAX + 1)
        ]

    def routes(self) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        """Return what answers each method and path."""
        return {
            "GET /ui/login/issuer": self._begin,
            "GET /ui/login/callback": self._come_back,
            "POST /ui/session/renew": self._renew,
        }

    async def end(self, refresh_token: str) -> Response:
        """Revoke a refresh token, and lead the person to the issuer's end of its session."""
        try:
            address = await self._call(partial(self._client.end, refresh_token))
        except QueryRefusal as refusal:
            # The session ends here all the same.
            log.warning("console_logout_not_told", error=str(refusal))
            address = ""
        if not address:
            return self._logins.redirect(LOGIN_PATH)
        page = self._logins.templates.page("logged_out.html", address=address)
        # The policy lets no form lead to another host, so that a redirection would be refused.
        page.headers["Refresh"] = f"0; url={address}"
        return page

    async def _begin(self, request: Request) -> Response:
        """Lead the person to the issuer."""
        if request.headers.get("sec-fetch-site", "") in _OTHER_SITES:
            # A login begins on the login page alone.
            return self._logins.page(request)
        visit = self._logins.visit(request)
        way_back = visit.way_back if visit else "/ui/"
        attempt = LoginAttempt(
            state=_secret(),
            nonce=_secret(),
            verifier=_secret(),
            way_back=way_back if len(way_back) <= _WAY_BACK_BYTES_MAX else "/ui/",
            ends_at=self._logins.clock() + LOGIN_SECS,
        )
        address = await self._call(partial(self._client.address_of, attempt))
        response = RedirectResponse(address, _SEE_OTHER)
        self._slot(request).write(request, response, attempt.fields())
        return response

    def _slot(self, request: Request) -> Cookie:
        """Return the cookie of a new attempt: one without any, or that of the oldest."""

        def end_of(cookie: Cookie) -> float:
            attempt = self._attempt(request, cookie)
            return attempt.ends_at if attempt else 0.0

        return min(self._attempts, key=end_of)

    def _attempt(self, request: Request, cookie: Cookie) -> LoginAttempt | None:
        fields = cookie.read(request)
        return None if fields is None else attempt_of(fields, self._logins.clock())

    async def _come_back(self, request: Request) -> Response:
        """Take the issuer's answer, of an attempt that this browser began."""
        shown = request.query_params.get("state", "")
        for cookie in self._attempts:
            attempt = self._attempt(request, cookie)
            if attempt is not None and is_same(shown.encode(), attempt.state.encode()):
                response = await self._finish(request, attempt)
                cookie.delete(request, response)
                return response
        message = "this browser has not begun the login, or more than ten minutes ago: try again"
        return self._logins.page(request, message)

    async def _finish(self, request: Request, attempt: LoginAttempt) -> Response:
        parameters = request.query_params
        try:
            if parameters.get("iss", self._client.issuer) != self._client.issuer:
                raise NotAllowed("the answer is of another issuer")
            if "code" not in parameters:
                raise NotAllowed(f"the issuer refused the login: {_error(parameters['error'])}")
            exchange = partial(self._client.exchange, attempt, parameters["code"])
            tokens = await self._call(exchange)
            subject = await self._logins.subject(request, tokens.token)
        except KeyError:
            return self._logins.page(request, "the issuer's answer has neither code nor error")
        except (NotKnown, NotAllowed) as refusal:
            return self._logins.page(request, str(refusal), refusal.status)
        ends_at = self._logins.clock() + SESSION_SECS
        session = _renewed(Session(new_id(), subject, ends_at), tokens)
        return self._logins.enter(request, session, attempt.way_back)

    async def _renew(self, request: Request) -> Response:
        """Renew the session's token, for a page that comes back or for a script."""
        session = self._logins.session(request)
        if session is None or not session.refresh_token:
            raise NotKnown("there is no session to renew: load the page again to log in")
        fields = await read_form(request, *self._logins.sealer.form_tokens(session.id))
        way_back = self._logins.open_way_back(fields.get("way_back", ""))
        is_page = request.headers.get("sec-fetch-mode", "navigate") == "navigate"
        try:
            tokens = await self._call(self._renewals.renew(session.refresh_token))
        except NotAllowed as refusal:
            if not is_page:
                raise
            return self._logins.refused_page(request, refusal, way_back)
        renewed = _renewed(session, tokens)
        secs = renewed.secs_to_renewal(self._logins.clock())
        response = Response(status_code=204, headers={"Session-Secs": str(secs)})
        if is_page:
            response = self._logins.redirect(way_back)
        try:
            self._logins.write(request, response, renewed)
        except CookieTooLarge:
            raise NotAllowed("the renewed token is too large for a session: log in again") from None
        return response

    async def _call(self, call: Callable[[], Value] | Awaitable[Value]) -> Value:
        """Ask the issuer. Raises QueryRefusal."""
        try:
            if isinstance(call, Awaitable):
                return await call
            if self._threads.statistics().tasks_waiting >= _WAITERS_MAX:
                raise NotNow("too many logins wait for the issuer: try again", "", _RETRY_SECS)
            return await to_thread.run_sync(call, limiter=self._threads)
        except IssuerAway as error:
            log.warning("console_issuer_away", error=str(error))
            raise NotNow("the issuer does not answer now: try again", "", _RETRY_SECS) from error
        except IssuerRefused as error:
            raise NotAllowed(f"the issuer refuses: {_error(error.code)}") from error
        except LoginError as error:
            log.warning("console_issuer_unusable", error=str(error))
            raise NotAllowed(str(error)) from error


def _renewed(session: Session, tokens: IssuedTokens) -> Session:
    return replace(
        session,
        token=tokens.token,
        token_ends_at=tokens.ends_at,
        refresh_token=tokens.refresh_token,
    )


def _secret() -> str:
    return base64.urlsafe_b64encode(random_bytes(_SECRET_BYTES)).decode().rstrip("=")


def _error(code: str) -> str:
    """Return an issuer's code of an error, if it can be shown."""
    return code[:80] if code.isprintable() else "an error"
