"""TTL cache of the tenants that rules of credentials and operators name."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping

from meta.access import CallerTenant
from meta.commits.transactions import Transactions
from meta.identities import NamedRight
from meta.rpc.caller_rights import Rights, right
from meta.store.access import caller_tenants

# A suspension holds within this time.
TENANT_SECS = 3.0
NAMES_MAX = 1_000
NAME_CHARACTERS_MAX = 255


class TenantCache:
    """Tenants by name, read again after a few seconds; used on the event loop."""

    def __init__(
        self, transactions: Transactions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._lock = asyncio.Lock()
        # When each name was looked up, the oldest first; None = there is no such tenant.
        self._kept: dict[str, tuple[float, CallerTenant | None]] = {}

    async def find(self, name: str) -> CallerTenant | None:
        """The tenant with a name, None if there is none. Raises Unavailable."""
        return (await self._find_all([name]))[name]

    async def rights(self, of_rules: Collection[NamedRight]) -> Rights:
        """The rights of rules, in the tenants that exist. Raises Unavailable."""
        names = {rule.tenant_name for rule in of_rules if rule.tenant_name}
        tenants = await self._find_all(names) if names else {}
        rights = []
        for rule in of_rules:
            if not rule.tenant_name:
                rights.append(right(rule.subject, rule.role))
            elif (tenant := tenants[rule.tenant_name]) is not None:
                rights.append(right(rule.subject, rule.role, tenant))
        return tuple(rights)

    async def _find_all(self, names: Collection[str]) -> Mapping[str, CallerTenant | None]:
        if self._stale(names):
            async with self._lock:
                # Another caller may have read them meanwhile.
                if stale := self._stale(names):
                    await self._read(stale)
        # A name that is too long for a tenant is not kept.
        return {name: self._kept.get(name, (0.0, None))[1] for name in names}

    def _stale(self, names: Collection[str]) -> list[str]:
        until = self._clock() - TENANT_SECS
        return [
            name
            for name in names
            if len(name) <= NAME_CHARACTERS_MAX
            and self._kept.get(name, (float("-inf"), None))[0] <= until
        ]

    async def _read(self, names: Collection[str]) -> None:
        # Before the read: a suspension may be committed while the answer travels.
        read_at = self._clock()
        tenants = await asyncio.to_thread(
            self._transactions.read, lambda tx: caller_tenants.find(tx, names)
        )
        for name in names:
            self._kept.pop(name, None)
            self._kept[name] = read_at, tenants.get(name)
        while len(self._kept) > NAMES_MAX:
            del self._kept[next(iter(self._kept))]
