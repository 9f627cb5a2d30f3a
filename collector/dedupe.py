"""Digests of recently committed exports: a resend is acknowledged and not written again."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

DIGESTS_MAX = 1_000_000


@dataclass(slots=True)
class CommittedDigests:
    """A set that forgets after `keep_secs`, or earlier beyond `DIGESTS_MAX`, the oldest first."""

    keep_secs: float
    clock: Callable[[], float] = time.monotonic
    # Insertion order is commit order, so the oldest are in front.
    _committed_at: dict[bytes, float] = field(default_factory=dict)

    def __contains__(self, digest: bytes) -> bool:
        at = self._committed_at.get(digest)
        return at is not None and self.clock() - at < self.keep_secs

    def __len__(self) -> int:
        return len(self._committed_at)

    def add(self, digests: Iterable[bytes], age_secs: float = 0.0) -> None:
        """Remember exports committed `age_secs` ago."""
        now = self.clock()
        for digest in digests:
            self._committed_at.pop(digest, None)
            self._committed_at[digest] = now - age_secs
        self._expire(now)

    def _expire(self, now: float) -> None:
        expired: list[bytes] = []
        surplus = len(self._committed_at) - DIGESTS_MAX
        for digest, at in self._committed_at.items():
            if now - at < self.keep_secs and len(expired) >= surplus:
                break
            expired.append(digest)
        for digest in expired:
            del self._committed_at[digest]
