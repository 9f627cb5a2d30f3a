"""Shutdown on SIGTERM and SIGINT."""

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence

SIGNAL_POLL_SECS = 1.0
_DEFAULT = (signal.SIGTERM, signal.SIGINT)


class Shutdown:
    """Set once SIGTERM or SIGINT arrives; every wait of a process goes through it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def install(
        self,
        numbers: Sequence[signal.Signals] = _DEFAULT,
        on_repetition: Callable[[], None] | None = None,
    ) -> "Shutdown":
        """Take over signals; only the main thread may. A later signal calls `on_repetition`.

        A handler interrupts the main thread anywhere, another handler too, so it takes no lock: it
        writes to a pipe, and a thread that reads from it sets the event. At its end Python gives
        signals back to the system, and one more would end a process that has finished its work as
        if it had been killed; so they are ignored from then on.
        """
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        threading.Thread(target=self._follow, args=(reader,), name="signals", daemon=True).start()
        has_arrived = False

        def on_signal(*_: object) -> None:
            nonlocal has_arrived
            if has_arrived:
                # The thread reads once: more bytes would stay in the pipe.
                if on_repetition is not None:
                    on_repetition()
                return
            os.write(writer, b"s")
            has_arrived = True

        for number in numbers:
            signal.signal(number, on_signal)
            atexit.register(signal.signal, number, signal.SIG_IGN)
        return self

    def request(self) -> None:
        """Ask the process to end, as a signal would."""
        self._event.set()

    @property
    def is_requested(self) -> bool:
        """True once the process should end."""
        return self._event.is_set()

    def _follow(self, reader: int) -> None:
        os.read(reader, 1)
        self._event.set()

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
