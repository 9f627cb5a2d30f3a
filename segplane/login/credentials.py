"""The credential of a saved login, which every call to its server carries."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from meta.errors import Unauthenticated
from segplane.login import saved
from segplane.login.saved import LoginError, SavedLogin

# An issuer that does not answer is asked again after this long.
RETRY_SECS = 10.0


class LoginCredentials:
    """The metadata of calls with a saved login, renewed before it expires; safe for threads."""

    def __init__(
        self, address: str, login: SavedLogin, clock: Callable[[], float] = time.time
    ) -> None:
        self._address = address
        self._login = login
        self._clock = clock
        self._lock = threading.Lock()
        self._tried_at = float("-inf")

    def __call__(self) -> tuple[tuple[str, str], ...]:
        """The metadata of a call that begins now. Raises Unauthenticated once it has expired."""
        with self._lock:
            now = self._clock()
            if self._login.is_due(now) and now - self._tried_at >= RETRY_SECS:
                self._tried_at = now
                self._login = self._renewed(now)
            login = self._login
        if login.has_expired(now):
            raise Unauthenticated(
                f"the login to {self._address} has expired ({_time(login)}): run `segplane login`"
            )
        return (("authorization", f"Bearer {login.token}"),)

    def _renewed(self, now: float) -> SavedLogin:
        """Renew the login, or take the one that another process has renewed."""
        # HTTP takes long to import, and most commands renew nothing.
        from segplane.login import issuer

        try:
            with saved.turn(self._address):
                current = saved.load(self._address)
                if current is None:
                    # The user has logged out: this process continues until its token expires.
                    return self._login
                if not current.is_due(now) or not current.refresh_token:
                    return current
                new = _renew(current)
                # The former refresh token may be used up: this process has the new one anyhow.
                with suppress(LoginError):
                    saved.save(self._address, new)
                return new
        except (LoginError, issuer.IssuerAway, issuer.IssuerRefused):
            return self._login


def of_server(address: str) -> LoginCredentials | None:
    """The credential of the login to a server, None if there is none. Raises LoginError."""
    login = saved.load(address)
    return None if login is None else LoginCredentials(address, login)


def _renew(login: SavedLogin) -> SavedLogin:
    from segplane.login import issuer

    document = issuer.renew(issuer.discover(login.issuer), login)
    return issuer.login_of(
        {"refresh_token": login.refresh_token, **document},
        login.issuer,
        login.client_id,
        shows_id_token=login.shows_id_token,
    )


def _time(login: SavedLogin) -> str:
    moment = datetime.fromtimestamp(login.expires_at or 0.0, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
