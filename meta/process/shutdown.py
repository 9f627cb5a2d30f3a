"""Shutdown on SIGTERM and SIGINT."""

import signal
import threading
from collections.abc import Iterator

SIGNAL_POLL_SECS = 1.0


class Shutdown:
    """Set once SIGTERM or SIGINT arrives; every wait of a process goes through it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def install(self) -> "Shutdown":
        """Take over SIGTERM and SIGINT; only the main thread may."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._event.set())
        return self

    def request(self) -> None:
        """Ask the process to end, as a signal would."""
        self._event.set()

    @property
    def is_requested(self) -> bool:
        """True once the process should end."""
        return self._event.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until shutdown or for `seconds`; true on shutdown."""
        if seconds is not None:
            return self._event.wait(seconds)
        # The kernel may give the signal of a suspended process to any thread. Python runs handlers
        # in the main one alone, which a wait without end would not wake.
        while not self._event.wait(SIGNAL_POLL_SECS):
            pass
        return True


def every(interval_secs: float, shutdown: Shutdown) -> Iterator[int]:
    """Yield 0, 1, 2, ... at once and then every `interval_secs`, until shutdown."""
    count = 0
    while not shutdown.is_requested:
        yield count
        count += 1
        shutdown.wait(interval_secs)
