"""The servers behind a client's addresses, and the choice among them.

A client stays with one server while that answers, so that idle addresses hold no connection. It
begins with a random one, leaves a server that fails for the one that failed longest ago or never,
and chooses again at random every 5 to 15 minutes, so that clients spread again after a restart.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from meta.client.addresses import ServerTarget, resolve, split_addresses
from meta.client.channel import ClientTls, CurrentCredentials
from meta.client.connections import Endpoint

# How long an answer of DNS is used, and the least time between two questions.
NAME_SECS, NAME_SECS_MIN = 30.0, 1.0
# The first call waits so long for DNS; without an answer, names are left to gRPC.
FIRST_NAME_SECS = 2.0
STAY_SECS_MIN, STAY_SECS_MAX = 300.0, 900.0


class MetaServers:
    """Chooses the server of each attempt; safe for many threads.

    Raises ValueError for malformed addresses, and for files that cannot be used. `on_failure` is
    called with the target of each server that fails, if there are others.
    """

    def __init__(
        self,
        addresses: str,
        tls: ClientTls | None,
        drain_secs: float,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        self.closed = threading.Event()
        self._addresses = split_addresses(addresses)
        self._names = [address for address in self._addresses if address.is_name]
        self._server_name = tls.server_name if tls else ""
        self._credentials = CurrentCredentials(tls)
        self._drain_secs = drain_secs
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._resolving: threading.Thread | None = None
        self._resolved_at = float("-inf")
        self._endpoints: list[Endpoint] = []
        # Endpoints of addresses that DNS no longer names.
        self._left: list[Endpoint] = []
        self._set([ServerTarget(address.text) for address in self._addresses])
        self._preferred = random.choice(self._endpoints)
        self._stays_until = self._end_of_stay()

    def pick(self) -> Endpoint:
        """The server for an attempt that begins now."""
        if self._names and time.monotonic() - self._resolved_at > NAME_SECS:
            self._resolve(FIRST_NAME_SECS if self._resolved_at < 0 else 0.0)
        preferred = self._preferred
        if preferred.failed_at:
            # Several that never failed are used alike.
            candidates = list(self._endpoints)
            random.shuffle(candidates)
            preferred = min(candidates, key=lambda endpoint: endpoint.failed_at)
            self._preferred = preferred
        return preferred

    def others(self, endpoint: Endpoint) -> Sequence[Endpoint]:
        """The servers other than one, those first that failed longest ago."""
        others = [other for other in self._endpoints if other is not endpoint]
        return sorted(others, key=lambda other: other.failed_at)

    def failed(self, endpoint: Endpoint) -> None:
        """Note that a server is unavailable: others are tried before it."""
        is_news = not endpoint.failed_at
        endpoint.failed_at = time.monotonic()
        if self._names and endpoint.failed_at - self._resolved_at > NAME_SECS_MIN:
            self._resolve()
        if is_news and self._on_failure is not None and len(self._endpoints) > 1:
            self._on_failure(endpoint.target.target)

    def candidate(self) -> Endpoint | None:
        """The server to move to, once the stay with the present one is over."""
        if time.monotonic() < self._stays_until:
            return None
        self._stays_until = self._end_of_stay()
        candidate = random.choice(self._endpoints)
        return None if candidate is self._preferred else candidate

    def prefer(self, endpoint: Endpoint) -> None:
        """Use a server for the calls that follow."""
        self._preferred = endpoint

    def close(self) -> None:
        """Close every connection; calls under way are cancelled."""
        self.closed.set()
        for endpoint in (*self._endpoints, *self._left):
            endpoint.close()

    def tidy(self) -> None:
        """Close former connections that have had their time to drain."""
        for endpoint in self._endpoints:
            endpoint.tidy()
        with self._lock:
            self._left = [endpoint for endpoint in self._left if not endpoint.tidy()]

    def _end_of_stay(self) -> float:
        return time.monotonic() + random.uniform(STAY_SECS_MIN, STAY_SECS_MAX)

    def _resolve(self, wait_secs: float = 0.0) -> None:
        """Have names resolved by a thread, since an answer may take DNS many seconds."""
        with self._lock:
            if self._resolving is None or not self._resolving.is_alive():
                self._resolving = threading.Thread(
                    target=self._ask_dns, name="meta-names", daemon=True
                )
                self._resolving.start()
            resolving = self._resolving
        if wait_secs:
            resolving.join(wait_secs)

    def _ask_dns(self) -> None:
        # Without an answer the known endpoints stay: the earlier addresses, or else the names.
        with suppress(OSError, UnicodeError):
            self._set([target for address in self._addresses for target in resolve(address)])
        self._resolved_at = time.monotonic()

    def _set(self, targets: Sequence[ServerTarget]) -> None:
        former = {endpoint.target: endpoint for endpoint in self._endpoints}
        resolved = [
            ServerTarget(target.target, self._server_name or target.server_name)
            for target in dict.fromkeys(targets)
        ]
        endpoints = [
            former.pop(target)
            if target in former
            else Endpoint(target, self._credentials, self._drain_secs)
            for target in resolved
        ]
        self._endpoints = endpoints
        if former:
            if self._preferred not in endpoints:
                self._preferred = random.choice(endpoints)
            for endpoint in former.values():
                endpoint.leave()
            with self._lock:
                self._left += former.values()
        if self.closed.is_set():
            self.close()
