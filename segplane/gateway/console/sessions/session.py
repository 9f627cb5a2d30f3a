"""Values that the console's cookies hold."""

import base64
import json
from dataclasses import asdict, dataclass, field

from meta.secrets import random_bytes
from segplane.gateway.console.sessions.sealing import Fields

SESSION_SECS = 12 * 3_600.0
LOGIN_SECS = 600.0
_ID_BYTES = 16


def new_id() -> str:
    """Return the id of a new session."""
    return random_bytes(_ID_BYTES).hex()


@dataclass(frozen=True, slots=True)
class Session:
    """A person's login; times are seconds since the unix epoch.

    `token` is what meta is shown; "" = the gateway's rights, for a person on its machine.
    """

    id: str
    name: str
    ends_at: float
    token: str = field(default="", repr=False)
    token_ends_at: float = float("inf")
    # "" = the token is not renewed.
    refresh_token: str = field(default="", repr=False)

    def fields(self) -> Fields:
        """Return what its cookie holds."""
        return asdict(self)

    def secs_to_renewal(self, now: float) -> int:
        """Return the seconds until its token or it ends, at least 1; 0 if nothing renews it."""
        secs = min(self.ends_at, self.token_ends_at) - now
        return int(max(1.0, secs)) if self.refresh_token else 0


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A person's way to the issuer and back."""

    state: str
    nonce: str
    verifier: str = field(repr=False)
    way_back: str
    ends_at: float

    def fields(self) -> Fields:
        """Return what its cookie holds."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LoginVisit:
    """A visit of the login page; `way_back` is a path below /ui/ with its query."""

    id: str
    ends_at: float
    way_back: str = "/ui/"

    def fields(self) -> Fields:
        """Return what its cookie holds."""
        return asdict(self)


def session_of(fields: Fields, now: float) -> Session | None:
    """Return the session that a cookie holds, None if it has ended."""
    try:
        session = Session(**fields)  # type: ignore[arg-type]
    except TypeError:
        # Of a release whose sessions have other fields.
        return None
    return session if now < session.ends_at else None


def visit_of(fields: Fields, now: float) -> LoginVisit | None:
    """Return the visit that a cookie holds, None if it has ended."""
    visit = LoginVisit(**fields)  # type: ignore[arg-type]
    return visit if now < visit.ends_at else None


def attempt_of(fields: Fields, now: float) -> LoginAttempt | None:
    """Return the attempt that a cookie holds, None if it has ended."""
    attempt = LoginAttempt(**fields)  # type: ignore[arg-type]
    return attempt if now < attempt.ends_at else None


def largest_claim(token: str) -> str:
    """Return the name of the largest claim of a JSON Web Token; "" if it is not one."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return str(max(claims, key=lambda name: len(json.dumps(claims[name]))))
    except (IndexError, ValueError, TypeError):
        return ""
