"""Cookies and pages that all kinds of login share."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from meta.client.addresses import network_of
from meta.errors import MetaError
from segplane.gateway.console import tenancy
from segplane.gateway.console.policy import BrowserPolicy
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
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.failures import failure_of
from segplane.gateway.http.readers import CatalogReader, CatalogReaders
from segplane.gateway.http.refusals import QueryRefusal, TenantNeeded

_SEE_OTHER = 303
_WAY_BACK = "way back of a renewal"
LOGIN_PATH = "/ui/login"


class Logins:
    """Reads and writes sessions, and visits of the login page; used on the event loop."""

    def __init__(
        self,
        settings: ConsoleSettings,
        readers: CatalogReaders,
        templates: Templates,
        clock: Callable[[], float],
    ) -> None:
        self.sealer = Sealer(settings.keys)
        self.is_public = settings.public_url is not None
        self.templates = templates
        self.clock = clock
        self.root = BrowserPolicy(settings.public_url).root
        self._has_issuer = bool(settings.oidc.issuer)
        self._readers = readers
        self._sessions = Cookie(self.sealer, self.is_public, "", round(SESSION_SECS), False)
        self._visits = Cookie(self.sealer, self.is_public, "-login", round(LOGIN_SECS), True)

    def session(self, request: Request) -> Session | None:
        """Return the session of a request, None without one."""
        fields = self._sessions.read(request)
        return None if fields is None else session_of(fields, self.clock())

    def visit(self, request: Request) -> LoginVisit | None:
        """Return the visit of the login page that a request belongs to, None without one."""
        fields = self._visits.read(request)
        return None if fields is None else visit_of(fields, self.clock())

    def begin_visit(self, request: Request, response: Response, way_back: str) -> None:
        """Keep the way back in the browser. It fits, since an address has at most 4 KiB."""
        visit = LoginVisit(new_id(), self.clock() + LOGIN_SECS, way_back)
        self._visits.write(request, response, visit.fields())

    def seal_way_back(self, way_back: str) -> str:
        """Return the way back as a field of a form, which nobody else can make."""
        return self.sealer.seal(_WAY_BACK, {"way_back": way_back})

    def open_way_back(self, text: str) -> str:
        """Return the way back that a form has; /ui/ without a valid one."""
        return str((self.sealer.open(_WAY_BACK, text) or {"way_back": "/ui/"})["way_back"])

    async def check(self, request: Request, token: str) -> tuple[Caller, CatalogReader]:
        """Have meta check a person's token, in the tenant of the address. Raises QueryRefusal."""
        header, tenant = f"Bearer {token}", tenancy.current()
        # Guesses are throttled by it.
        network = network_of(request.client.host) if request.client else ""
        try:
            # Refuses the gateway's own token, and any of a meta that asks for none.
            caller = await self._readers.find_author(header, network, tenant=tenant)
            return caller, await self._readers.find(header, network, tenant=tenant)
        except MetaError as error:
            raise failure_of(error) or QueryRefusal(str(error)) from error

    async def check_own(self, request: Request) -> tuple[Caller, CatalogReader]:
        """Return the gateway itself in the tenant of the address. Raises QueryRefusal."""
        network = network_of(request.client.host) if request.client else ""
        try:
            return await self._readers.find_own(network, tenancy.current())
        except MetaError as error:
            raise failure_of(error) or QueryRefusal(str(error)) from error

    async def subject(self, request: Request, token: str) -> str:
        """Have meta name the holder of a token, who may have to choose a tenant afterwards.

        Raises QueryRefusal.
        """
        try:
            _, reader = await self.check(request, token)
        except TenantNeeded as needed:
            if not needed.subject:
                raise
            return needed.subject
        return reader.subject.removeprefix(f"{reader.tenant}/")

    def redirect(self, path: str) -> Response:
        """Lead the browser to a path below /ui/."""
        return RedirectResponse(f"{self.root}{path}", _SEE_OTHER)

    def enter(self, request: Request, session: Session, way_back: str = "") -> Response:
        """Give the browser a session, and lead it back to where the person came from."""
        visit = self.visit(request)
        response = self.redirect(way_back or (visit.way_back if visit else "/ui/"))
        try:
            self.write(request, response, session)
        except CookieTooLarge:
            return self.page(request, _too_large(session.token), 400)
        self._visits.delete(request, response)
        return response

    def write(self, request: Request, response: Response, session: Session) -> None:
        """Keep a session in the browser. Raises CookieTooLarge."""
        self._sessions.write(request, response, session.fields())

    def drop(self, request: Request, response: Response) -> None:
        """Delete the session in the browser, if it was sent: a link of another site has none."""
        if self._sessions.is_sent(request):
            self._sessions.delete(request, response)

    def leave(self, request: Request, response: Response) -> None:
        """Delete the session in the browser, and what the console keeps there."""
        self._sessions.delete(request, response)
        self._visits.delete(request, response)
        # Cookies would be those of the whole domain, of every port of this machine too.
        response.headers["Clear-Site-Data"] = '"cache", "storage"'

    def refused_page(self, request: Request, refusal: QueryRefusal, way_back: str) -> Response:
        """Delete the session in the browser, and return the login page with the cause."""
        response = self.page(request, str(refusal), refusal.status, way_back)
        self.drop(request, response)
        return response

    def page(
        self, request: Request, message: str = "", status: int = 0, way_back: str = ""
    ) -> Response:
        """Return the login page; a way back begins another visit of it."""
        visit = None if way_back else self.visit(request)
        visit = visit or LoginVisit(new_id(), self.clock() + LOGIN_SECS, way_back or "/ui/")
        response = self.templates.page(
            "login.html",
            status or (403 if message else 200),
            message=message,
            form_token=self.sealer.form_tokens(visit.id)[0],
            takes_codes=not self.is_public,
            has_issuer=self._has_issuer,
            way_back=visit.way_back,
        )
        self._visits.write(request, response, visit.fields())
        return response


def _too_large(token: str) -> str:
    claim = largest_claim(token)
    cause = f"shorten its claim {claim[:80]!r} at the issuer" if claim else "use a shorter one"
    return (
        f"the token is too large for a session of {PARTS_MAX} cookies of {PART_BYTES_MAX:,} bytes:"
        f" {cause}"
    )
