"""Renewals of sessions: one under way for each refresh token, whose answer others share."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from anyio import CapacityLimiter, to_thread

from meta.secrets import token_name
from segplane.gateway.console.sessions.openid import IssuedTokens
from segplane.gateway.http.refusals import NotNow

# Tabs that ask with the cookie from before get the same answer for this long.
SHARED_SECS = 30.0
RENEWALS_MAX = 1_000
_THREADS = 4
_RETRY_SECS = 1


@dataclass(slots=True)
class _Renewal:
    task: "asyncio.Task[IssuedTokens]"
    ended_at: float | None = None


class Renewals:
    """A refresh token is good for one use, and its second use ends the login at some issuers.

    Used on the event loop.
    """

    def __init__(
        self,
        renew: Callable[[str], IssuedTokens],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._renew = renew
        self._monotonic = monotonic
        self._threads = CapacityLimiter(_THREADS)
        self._renewals: dict[str, _Renewal] = {}

    async def renew(self, refresh_token: str) -> IssuedTokens:
        """Return the tokens that follow a refresh token. Raises as the renewal does, and NotNow."""
        self._forget()
        name = token_name(refresh_token)
        renewal = self._renewals.get(name)
        if renewal is None:
            if len(self._renewals) >= RENEWALS_MAX:
                raise NotNow("too many sessions are renewed: try again", "", _RETRY_SECS)
            task = asyncio.create_task(self._call(refresh_token))
            renewal = self._renewals[name] = _Renewal(task)
            task.add_done_callback(lambda _: self._end(name, renewal))
        return await asyncio.shield(renewal.task)

    async def _call(self, refresh_token: str) -> IssuedTokens:
        return await to_thread.run_sync(self._renew, refresh_token, limiter=self._threads)

    def _end(self, name: str, renewal: _Renewal) -> None:
        renewal.ended_at = self._monotonic()
        if renewal.task.cancelled() or renewal.task.exception() is not None:
            # Another try may succeed.
            self._renewals.pop(name, None)

    def _forget(self) -> None:
        now = self._monotonic()
        self._renewals = {
            name: renewal
            for name, renewal in self._renewals.items()
            if renewal.ended_at is None or now - renewal.ended_at < SHARED_SECS
        }
