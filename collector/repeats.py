"""Warning and log line for an export whose bytes were stored before.

Most repeats are retries, whose first answer was lost. Some are a person's who tries an example
twice and would look for the second one in vain.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from segments.signals import TRAITS, Signal

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
