"""A reader's pin: renewed in the background while a dataset is open."""

import atexit
import getpass
import socket
import threading
import time
import weakref
from contextlib import suppress
from uuid import uuid4

from meta.client import MetaClient
from meta.errors import MetaError, NotFound
from meta.v1 import operations_pb2 as pb
from segplane.read.errors import PinLost, sentence

LEASE_SECS = 300
_OWNER_CHARACTERS_MAX = 255
_RETRY_SECS = 1.0
_RELEASE_SECS = 5.0


def owner() -> str:
    """Name this reader to operators, who list pins by it."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"[:_OWNER_CHARACTERS_MAX]


def take_pin(
    client: MetaClient,
    dataset_name: str,
    version: int | None = None,
    lease_secs: int = LEASE_SECS,
    *,
    as_of_nanos: int | None = None,
    pin_id: str | None = None,
    holds_changes: bool = False,
) -> pb.Pin:
    """Pin a dataset at a version or that of a time, None = the current one. Raises MetaError."""
    request = pb.PinVersionRequest(
        pin_id=pin_id or str(uuid4()),
        owner=owner(),
        dataset_name=dataset_name,
        version=version,
        lease_secs=lease_secs,
        as_of_nanos=as_of_nanos,
        holds_changes=holds_changes,
    )
    return client.operations.PinVersion(request).pin


def renew_pin(
    client: MetaClient, pin_id: str, lease_secs: int = LEASE_SECS, timeout: float | None = None
) -> pb.Pin:
    """Begin a pin's lease again. Raises MetaError."""
    request = pb.RenewPinRequest(pin_id=pin_id, lease_secs=lease_secs)
    return client.operations.RenewPin(request, timeout=timeout).pin


def release_pin(client: MetaClient, pin_id: str, timeout: float | None = None) -> None:
    """Give up a pin; without an answer it expires with its lease."""
    with suppress(MetaError):
        client.operations.ReleasePin(pb.ReleasePinRequest(pin_id=pin_id), timeout=timeout)


class VersionPin:
    """A dataset at a version that is kept from deletion until `close`; owns its client.

    It is renewed as long as one of its users lives (`keep_for`). Without any it is released or, if
    a lazy result was given away, lapses with its lease.
    """

    def __init__(self, client: MetaClient, pin: pb.Pin, taken_at: float) -> None:
        self.client = client
        self.dataset_id = pin.dataset_id
        self.version = pin.version
        self._name, self._id = pin.dataset_name, pin.id
        self._until = taken_at + pin.left_secs
        self._lost = ""
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._users = 0
        self._is_lapsing = False
        self._thread = threading.Thread(target=self._renew, name="segplane-pin", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @classmethod
    def take(
        cls,
        client: MetaClient,
        dataset_name: str,
        version: int | None,
        as_of_nanos: int | None = None,
    ) -> "VersionPin":
        """Pin a dataset at a version or that of a time, None = the current one.

        Raises MetaError.
        """
        taken_at = time.monotonic()
        return cls(
            client, take_pin(client, dataset_name, version, as_of_nanos=as_of_nanos), taken_at
        )

    def check(self) -> None:
        """Raise PinLost if the version may have been deleted, or was closed."""
        if not self._lost and time.monotonic() > self._until:
            self._lost = "its lease expired"
        if self._lost:
            raise PinLost(
                f"dataset {self._name!r} is no longer kept at version {self.version}"
                f" ({self._lost}), so its files may be deleted: open it again"
            )

    def verify(self) -> None:
        """Ask meta whether the pin is still there; raises PinLost. Without an answer it may be."""
        with suppress(MetaError):
            self._renew_once()
        self.check()

    def keep_for(self, user: object, *, is_lazy: bool = False) -> None:
        """Renew the pin as long as `user` lives; lazy ones may have passed on what reads it."""
        with self._lock:
            self._users += 1
            self._is_lapsing |= is_lazy
        finalizer = weakref.finalize(user, self._drop)
        finalizer.atexit = False

    def close(self) -> None:
        """Release the pin and close the client."""
        self._is_lapsing = False
        self._stop.set()
        self._thread.join(_RELEASE_SECS + 1)
        atexit.unregister(self.close)

    def _drop(self) -> None:
        """Count a user less; a garbage collection runs this, so it calls nobody."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._stop.set()

    def _renew(self) -> None:
        while not self._stop.wait(max(_RETRY_SECS, (self._until - time.monotonic()) / 2)):
            try:
                self._renew_once()
            except MetaError as error:
                # Until the lease is over the version stays readable.
                if time.monotonic() > self._until:
                    self._lost = f"its pin could not be renewed: {sentence(error)}"
            if self._lost:
                break
        self._end()

    def _renew_once(self) -> None:
        started_at = time.monotonic()
        try:
            pin = renew_pin(self.client, self._id)
        except NotFound:
            self._lost = self._lost or "its pin was released or has expired"
        else:
            self._until = started_at + pin.left_secs

    def _end(self) -> None:
        atexit.unregister(self.close)
        try:
            if not self._lost and not self._is_lapsing:
                release_pin(self.client, self._id, _RELEASE_SECS)
        finally:
            self._lost = self._lost or "it was closed"
            self.client.close()
