"""Allowance of lookups of credentials that nobody knows: per host, and for all hosts."""

from collections.abc import Callable
from dataclasses import dataclass

HOST_PER_SEC = 5.0
HOST_BURST = 20.0
TOTAL_PER_SEC = 50.0
TOTAL_BURST = 200.0
HOSTS_MAX = 10_000


@dataclass(slots=True)
class _Allowance:
    """A token bucket."""

    attempts: float
    at: float

    def refill(self, now: float, per_sec: float, burst: float) -> float:
        self.attempts = min(burst, self.attempts + (now - self.at) * per_sec)
        self.at = now
        return self.attempts


class FailedAttempts:
    """Bounds what unknown credentials cost the database; a known one never comes here.

    The hosts that tried last are remembered, `HOSTS_MAX` of them: a new host begins with a full
    allowance. All hosts together have one as well, and those with a full allowance have another:
    hosts that guess do not keep the first credential of a new caller from being looked up.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._total = _Allowance(TOTAL_BURST, clock())
        self._newcomers = _Allowance(TOTAL_BURST, clock())
        self._hosts: dict[str, _Allowance] = {}

    def __len__(self) -> int:
        """The number of hosts that are remembered."""
        return len(self._hosts)

    def may_try(self, host: str) -> bool:
        """Take one lookup; False if the host, or all hosts together, have none left."""
        now = self._clock()
        allowance = self._hosts.pop(host, None) or _Allowance(HOST_BURST, now)
        # Moved to the end, so that the first one is the least recently used.
        self._hosts[host] = allowance
        if len(self._hosts) > HOSTS_MAX:
            del self._hosts[next(iter(self._hosts))]
        attempts = allowance.refill(now, HOST_PER_SEC, HOST_BURST)
        total = self._total_of(allowance)
        if attempts < 1 or total.refill(now, TOTAL_PER_SEC, TOTAL_BURST) < 1:
            return False
        allowance.attempts -= 1
        total.attempts -= 1
        return True

    def succeeded(self, host: str) -> None:
        """Give a lookup back: the credential was good, or could not be looked up."""
        allowance = self._hosts.get(host)
        if allowance is not None:
            allowance.attempts = min(HOST_BURST, allowance.attempts + 1)
            total = self._total_of(allowance)
            total.attempts = min(TOTAL_BURST, total.attempts + 1)

    def _total_of(self, allowance: _Allowance) -> _Allowance:
        return self._newcomers if allowance.attempts >= HOST_BURST else self._total
