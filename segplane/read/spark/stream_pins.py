"""Pins of a stream: each offset of its checkpoint has one, which keeps what changed since."""

from __future__ import annotations

import threading
import time

from meta.client import MetaClient
from meta.errors import MetaError, NotFound, VersionExpired
from meta.v1 import operations_pb2 as pb
from segplane.read.errors import PinLost
from segplane.read.pins import release_pin, renew_pin, take_pin
from segplane.read.spark.options import SourceOptions

_RETRY_SECS = 1.0


class StreamPins:
    """Takes, renews and releases a stream's pins; safe for threads. Methods raise MetaError."""

    def __init__(self, client: MetaClient, options: SourceOptions) -> None:
        self._client = client
        self._options = options
        self._lock = threading.Lock()
        self._pins: dict[str, pb.Pin] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew_all, name="segplane-pins", daemon=True)
        self._thread.start()

    def take(self, version: int | None) -> pb.Pin:
        """Pin a version, None = the current one, under a new id."""
        pin = self._taken(version)
        with self._lock:
            self._pins[pin.id] = pin
        return pin

    def hold(self, pin_id: str, version: int) -> pb.Pin:
        """Go on with the pin of an offset.

        Raises PinLost if it has lapsed and changes since are forgotten.
        """
        with self._lock:
            pin = self._pins.get(pin_id)
        if pin is None:
            pin = self._resumed(pin_id, version)
            with self._lock:
                self._pins[pin_id] = pin
        return pin

    def release_before(self, version: int, pin_id: str) -> None:
        """Give up the pins of versions before one."""
        with self._lock:
            old = [
                pin.id for pin in self._pins.values() if pin.version <= version and pin.id != pin_id
            ]
            for old_id in old:
                del self._pins[old_id]
        for old_id in old:
            self.release(old_id)

    def release(self, pin_id: str) -> None:
        """Give up a pin; without an answer it expires with its lease."""
        release_pin(self._client, pin_id)

    def close(self) -> None:
        """Renew no more: the checkpoint's pin lasts as long as its lease."""
        self._stop.set()

    def _resumed(self, pin_id: str, version: int) -> pb.Pin:
        try:
            return self._renew(pin_id)
        except NotFound:
            pass
        try:
            # Nothing was deleted yet.
            return self._taken(version, pin_id)
        except VersionExpired as error:
            raise PinLost(
                f"the stream stood at version {version} of dataset {self._options.dataset!r} for"
                " longer than its pin was kept, and what was added since may be deleted: start"
                " with a new checkpoint"
            ) from error

    def _taken(self, version: int | None, pin_id: str | None = None) -> pb.Pin:
        name, lease_secs = self._options.dataset, self._options.lease_secs
        return take_pin(self._client, name, version, lease_secs, pin_id=pin_id, holds_changes=True)

    def _renew(self, pin_id: str) -> pb.Pin:
        return renew_pin(self._client, pin_id, self._options.lease_secs)

    def _renew_all(self) -> None:
        wait = _RETRY_SECS
        while not self._stop.wait(max(_RETRY_SECS, wait)):
            began_at = time.monotonic()
            has_answer = True
            with self._lock:
                ids = list(self._pins)
            for pin_id in ids:
                try:
                    pin = self._renew(pin_id)
                except NotFound:
                    pin = None
                except MetaError:
                    has_answer = False
                    continue
                self._put(pin_id, pin)
            interval = self._interval() if has_answer else _RETRY_SECS
            wait = interval - (time.monotonic() - began_at)

    def _interval(self) -> float:
        """Seconds from one renewal to the next: a third of what meta gave, which may be less."""
        with self._lock:
            # The first pin may be taken at any time, with any lease.
            return min((pin.left_secs for pin in self._pins.values()), default=0) / 3

    def _put(self, pin_id: str, pin: pb.Pin | None) -> None:
        """Note a renewed pin; one that is missing is looked for when it is needed next."""
        with self._lock:
            if pin_id in self._pins:
                if pin is None:
                    del self._pins[pin_id]
                else:
                    self._pins[pin_id] = pin
