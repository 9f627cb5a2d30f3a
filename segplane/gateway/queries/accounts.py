"""Accounts of callers: the queries each may run at a time, and its hourly budget."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from segplane.gateway.http.callers import Caller
from segplane.gateway.http.refusals import Busy
from segplane.gateway.queries.settings import QuerySettings

WAITING_MAX = 64
_HOUR_SECS = 3_600.0


class HourlyBudget:
    """An amount that may be used up in an hour, and comes back in the next one."""

    def __init__(self, amount: float, now: float) -> None:
        self._amount = amount
        self._left = amount
        self._at = now

    def left(self, now: float) -> float:
        """Return what may be used now; below 0 more was used than there was."""
        gained = (now - self._at) * self._amount / _HOUR_SECS
        self._left, self._at = min(self._amount, self._left + gained), now
        return self._left

    def use(self, amount: float, now: float) -> None:
        """Take an amount off."""
        self._left = self.left(now) - amount

    def secs_until_some(self, now: float) -> float:
        """Return the seconds until something is left."""
        return max(0.0, -self.left(now)) * _HOUR_SECS / self._amount

    def is_full(self, now: float) -> bool:
        """True if nothing is to be remembered."""
        return self.left(now) >= self._amount


class Account:
    """Slots and budgets of one caller."""

    def __init__(self, settings: QuerySettings, caller: Caller, now: float) -> None:
        self.queries_max = settings.slots_of(caller.percent)
        self._slots = asyncio.Semaphore(self.queries_max)
        self.queries = 0
        self.scanned = HourlyBudget(settings.caller_scanned_bytes, now)
        self.secs = HourlyBudget(settings.caller_secs, now)

    @asynccontextmanager
    async def slots_of(self, shared: asyncio.Semaphore, secs: float) -> AsyncIterator[None]:
        """Hold an own slot, then a shared one; raises Busy if that takes too long."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(secs):
                    await stack.enter_async_context(self._slots)
                    await stack.enter_async_context(shared)
            except TimeoutError:
                message = "other queries took all the time: try again"
                raise Busy(message, retry_secs=1) from None
            yield


class Accounts:
    """All callers' accounts; one that nothing is to be remembered of is forgotten."""

    def __init__(
        self, settings: QuerySettings, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._slots = asyncio.Semaphore(settings.concurrent)
        self._accounts: dict[tuple[str, int], Account] = {}

    @asynccontextmanager
    async def admitted(self, caller: Caller) -> AsyncIterator[Account]:
        """Wait for a slot of the caller's and one of all; raises Busy."""
        account = self._account(caller)
        if account.queries >= account.queries_max + WAITING_MAX:
            raise Busy(f"this caller has {account.queries} queries: wait for some", retry_secs=1)
        account.queries += 1
        try:
            async with account.slots_of(self._slots, self._settings.secs):
                yield account
        finally:
            account.queries -= 1

    def use(self, account: Account, scanned_bytes: int, secs: float) -> None:
        """Take a query's consumption off its caller's budgets."""
        now = self._monotonic()
        account.scanned.use(scanned_bytes, now)
        account.secs.use(secs, now)

    def scanned_bytes_left(self, account: Account) -> int:
        """Return how much a query of this caller may read."""
        return min(
            self._settings.scanned_bytes, max(1, int(account.scanned.left(self._monotonic())))
        )

    def _account(self, caller: Caller) -> Account:
        now = self._monotonic()
        # Another share of a tenant is another account, once its callers come with it.
        key = caller.account, caller.percent
        account = self._accounts.get(key)
        if account is None:
            self._forget(now)
            account = self._accounts[key] = Account(self._settings, caller, now)
        for what, budget in (("read", account.scanned), ("taken", account.secs)):
            if budget.left(now) <= 0:
                raise Busy(
                    f"this caller's queries have {what} what they may in an hour: try later, and"
                    " ask for less time or fewer columns",
                    retry_secs=round(budget.secs_until_some(now)) + 1,
                )
        return account

    def _forget(self, now: float) -> None:
        for name, account in list(self._accounts.items()):
            is_full = account.scanned.is_full(now) and account.secs.is_full(now)
            if is_full and not account.queries:
                del self._accounts[name]
