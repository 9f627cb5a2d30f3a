"""Digests of recently committed exports: a resend is acknowledged, not written again, and told."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import structlog

from segments.signals import TRAITS, Signal

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


log = structlog.get_logger()
# A sender whose answers are lost again and again must not fill the log.
LOG_PAUSE_SECS = 60.0


def warning(signal: Signal, num_records: int, keep_secs: float) -> str:
    """Tell the sender that its records count once, and how to send equal ones again."""
    return (
        f"the {num_records} {TRAITS[signal].records} of this export are stored already and count"
        f" once: an equal export came within the last {keep_secs:.0f} s; to store them again,"
        " change something in them, such as their times"
    )


@dataclass(slots=True)
class RepeatLog:
    """Logs repeats, at most one line a minute with their number since the last line."""

    clock: Callable[[], float] = time.monotonic
    _count: int = 0
    _logged_at: float = float("-inf")

    def add(self, signal: Signal, token_id: str) -> None:
        """Count one repeat; the line names the token of the latest."""
        self._count += 1
        if self.clock() - self._logged_at < LOG_PAUSE_SECS:
            return
        log.info("exports_repeated", count=self._count, signal=signal, token_id=token_id)
        self._count, self._logged_at = 0, self.clock()
