"""Renewals of sessions: shared for 30 s, bounded, and tried again after a failure."""

import asyncio
import threading

import pytest

from segplane.gateway.console.sessions.openid import IssuedTokens
from segplane.gateway.console.sessions.renewals import RENEWALS_MAX, SHARED_SECS, Renewals
from segplane.gateway.http.refusals import NotNow
from segplane.login.issuer import IssuerAway


class Issuer:
    """Numbers its answers, and waits for `is_open` before each."""

    def __init__(self) -> None:
        self.uses: list[str] = []
        self.is_open = threading.Event()
        self.is_open.set()
        self.now = 0.0

    def renew(self, refresh_token: str) -> IssuedTokens:
        self.uses.append(refresh_token)
        assert self.is_open.wait(30)
        if refresh_token == "away":
            raise IssuerAway("away")
        return IssuedTokens(f"token {len(self.uses)}", 1.0)


def test_an_answer_is_shared_for_30_s() -> None:
    issuer = Issuer()

    async def tokens() -> list[str]:
        renewals = Renewals(issuer.renew, lambda: issuer.now)
        shared = [(await renewals.renew("a")).token]
        issuer.now = SHARED_SECS - 0.1
        shared.append((await renewals.renew("a")).token)
        issuer.now = SHARED_SECS
        shared.append((await renewals.renew("a")).token)
        return [*shared, (await renewals.renew("b")).token]

    assert asyncio.run(tokens()) == ["token 1", "token 1", "token 2", "token 3"]


def test_a_failure_reaches_all_who_wait_and_nobody_after_them() -> None:
    issuer = Issuer()

    async def answers() -> list[object]:
        renewals = Renewals(issuer.renew)
        issuer.is_open.clear()
        waiting = [asyncio.ensure_future(renewals.renew("away")) for _ in range(3)]
        asyncio.get_running_loop().call_soon(issuer.is_open.set)
        together = await asyncio.gather(*waiting, return_exceptions=True)
        return [*together, *await asyncio.gather(renewals.renew("away"), return_exceptions=True)]

    assert [type(answer) for answer in asyncio.run(answers())] == [IssuerAway] * 4
    assert issuer.uses == ["away"] * 2


def test_renewals_are_bounded() -> None:
    issuer = Issuer()

    async def fill() -> None:
        renewals = Renewals(issuer.renew, lambda: issuer.now)
        for number in range(RENEWALS_MAX):
            await renewals.renew(f"refresh {number}")
        with pytest.raises(NotNow):
            await renewals.renew("one more")
        assert (await renewals.renew("refresh 0")).token == "token 1"
        issuer.now = SHARED_SECS
        await renewals.renew("one more")

    asyncio.run(fill())
