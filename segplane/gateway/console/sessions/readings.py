"""Documents of an issuer, read once for all who need them and kept for some minutes."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

KEPT_SECS = 300.0
Document = TypeVar("Document")


class SharedReading(Generic[Document]):
    """One document; threads that ask while it is read share the reading, and its failure."""

    def __init__(
        self, read: Callable[[], Document], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._reading: Future[Document] | None = None
        self._begun_at = 0.0

    def get(self) -> Document:
        """Return the document. Raises as its reading does; then the next call reads again."""
        with self._lock:
            reading, now = self._reading, self._monotonic()
            is_due = reading is None or now - self._begun_at >= KEPT_SECS
            if reading is None or is_due:
                reading, self._begun_at = Future(), now
                self._reading = reading
        if is_due:
            self._fill(reading)
        return reading.result()

    def forget(self) -> None:
        """Let the next call read again."""
        with self._lock:
            self._reading = None

    def _fill(self, reading: "Future[Document]") -> None:
        try:
            reading.set_result(self._read())
        except Exception as error:  # noqa: BLE001 - each waiting thread raises it
            self.forget()
            reading.set_exception(error)
