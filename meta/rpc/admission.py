"""Bounds of the calls that run at once, in all and of each subject or tenant, by their kind.

A call is counted from its headers on. gRPC has such a bound too, but its refusal carries neither a
reason nor a delay, and it counts those whose caller is not known.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from meta.access import Principal, shown_subject
from meta.config import Settings
from meta.errors import Overloaded
from meta.metrics import FREE_PLACES
from meta.rpc.restrictions import EVERYBODY, SUBJECT, count_restricted

CALLS, STREAMS, WATCHES = "calls", "streams", "watches"
# One stream for this many threads.
THREADS_PER_STREAM = 4
# A subject, or a tenant, holds at most such a part of the streams and watches.
STREAMS_SHARE = 2


@dataclass(slots=True)
class _Kind:
    """The bounds of one kind of call, and the calls that run."""

    most: int
    account_most: int
    running: int = 0
    by_account: dict[str, int] = field(default_factory=dict)

    def free(self) -> int:
        """The calls that may begin."""
        return self.most - self.running


class Admission:
    """Counts the calls that run; used on the event loop only.

    Those who call without a credential, or with META_AUTH_TOKEN, may be everybody: they have the
    bounds of the server alone.
    """

    def __init__(self, settings: Settings) -> None:
        streams_max = max(1, settings.threads // THREADS_PER_STREAM)
        self._kinds = {
            CALLS: _Kind(settings.concurrent_rpcs_max, settings.identity_rpcs_max),
            STREAMS: _Kind(streams_max, max(1, streams_max // STREAMS_SHARE)),
            WATCHES: _Kind(settings.watchers_max, max(1, settings.watchers_max // STREAMS_SHARE)),
        }
        for name, kind in self._kinds.items():
            # Read when it is asked for: every call changes it.
            FREE_PLACES["meta"].labels(name).set_function(kind.free)

    def running(self, account: str) -> int:
        """The calls of a subject, or of a tenant, that run."""
        return sum(kind.by_account.get(account, 0) for kind in self._kinds.values())

    @contextmanager
    def admit(self, principal: Principal, name: str = CALLS) -> Iterator[None]:
        """Count a call of a kind while it runs. Raises Overloaded at a bound."""
        kind = self._kinds[name]
        if kind.running >= kind.most:
            count_restricted(EVERYBODY, name)
            raise Overloaded(f"the server runs {kind.running} {name} at once, its maximum")
        account, has_own = principal.account, not principal.is_shared
        if has_own:
            count = kind.by_account.get(account, 0)
            if count >= min(kind.account_most, principal.account_shares.of(kind.most)):
                count_restricted(SUBJECT, name)
                raise Overloaded(_full(principal, count, name))
            kind.by_account[account] = count + 1
        kind.running += 1
        try:
            yield
        finally:
            kind.running -= 1
            if has_own:
                remaining = kind.by_account[account] - 1
                if remaining:
                    kind.by_account[account] = remaining
                else:
                    del kind.by_account[account]


def _full(principal: Principal, count: int, name: str) -> str:
    if principal.is_of_other_tenant:
        return f"your tenant has {count} {name} at once, the most of one tenant"
    return (
        f"{shown_subject(principal.subject)!r} has {count} {name} at once, the most of one subject"
    )
