"""Calls that threads make over and over while a test changes what they depend on."""

import threading
from collections.abc import Callable
from types import TracebackType

from tests.support.waiting import wait_until

CALLERS = 2
END_SECS = 60.0


class RepeatedCalls:
    """Repeats each call in its own threads, from `with` to its end; keeps every failure."""

    def __init__(self, *calls: Callable[[], object]) -> None:
        self.failures: list[Exception] = []
        self._stop = threading.Event()
        repeated = [call for call in calls for _ in range(CALLERS)]
        self._answered = [0] * len(repeated)
        self._threads = [
            # Daemons: a call that hangs fails the test, and does not keep the process.
            threading.Thread(target=self._repeat, args=(place, call), daemon=True)
            for place, call in enumerate(repeated)
        ]

    def go_on(self, count: int = 10) -> None:
        """Wait until every thread had `count` answers more; all but its first began after this."""
        before = list(self._answered)

        def is_done() -> bool:
            pairs = zip(before, self._answered, strict=True)
            return bool(self.failures) or all(now >= was + count for was, now in pairs)

        wait_until(is_done, f"{count} calls more", seconds=END_SECS)
        assert self.failures == []

    def _repeat(self, place: int, call: Callable[[], object]) -> None:
        while not self._stop.is_set():
            try:
                call()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
                self.failures.append(error)
                return
            self._answered[place] += 1

    def __enter__(self) -> "RepeatedCalls":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(END_SECS)
        assert not any(thread.is_alive() for thread in self._threads), "a call does not end"
        if error is None:
            assert self.failures == []
