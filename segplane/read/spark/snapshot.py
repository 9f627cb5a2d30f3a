"""The version of a dataset that a data frame reads, and the lease that keeps it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kql.dataset_table import constants_of
from meta.client import MetaClient
from meta.errors import MetaError, NotFound, VersionExpired
from meta.v1 import common_pb2
from segplane.read.bounds import TimeBounds
from segplane.read.errors import PinLost, ReadError, meta_refusals
from segplane.read.files.files import signals_of
from segplane.read.lookup import settings_at
from segplane.read.pins import renew_pin, take_pin
from segplane.read.rows.columns import ReadColumns
from segplane.read.spark.options import SourceOptions

_RENEW_DEADLINE_SECS = 5.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A pinned version; `pinned_at` is the planner's clock when the lease began, in seconds.

    `bounds` are of times without the adjustment.
    """

    dataset_name: str
    dataset_id: str
    version: int
    pin_id: str
    pinned_at: float
    lease_secs: int
    bounds: TimeBounds
    promoted: tuple[common_pb2.PromotedColumn, ...]
    time_adjustment: int = 0

    def columns(self, signal: str | None, names: Sequence[str] | None) -> ReadColumns:
        """Return columns of a signal, None = of all. Raises ReadError."""
        constants = constants_of(self.dataset_name, self.dataset_id)
        return ReadColumns(signals_of(signal), self.promoted, names, constants)


def open_snapshot(options: SourceOptions) -> Snapshot:
    """Pin the version that is asked for, or the current one. Raises ReadError."""
    with options.client() as client, meta_refusals(client):
        return snapshot_of(client, options)


def snapshot_of(client: MetaClient, options: SourceOptions) -> Snapshot:
    """Pin the version that is asked for, or the current one. Raises ReadError, MetaError."""
    bounds, began_at = options.bounds(), time.time()
    pin = take_pin(client, options.dataset, options.version, options.lease_secs)
    settings = settings_at(client, pin.dataset_id, pin.version)
    adjustment = options.adjustment(settings.time_adjustment_nanos)
    return Snapshot(
        pin.dataset_name,
        pin.dataset_id,
        pin.version,
        pin.id,
        began_at,
        pin.left_secs,
        bounds.moved(-adjustment),
        tuple(settings.promoted_columns.columns),
        adjustment,
    )


def renewed(client: MetaClient, options: SourceOptions, snapshot: Snapshot) -> Snapshot:
    """Begin the lease again, by another pin if the first has lapsed and nothing was deleted.

    Raises PinLost, MetaError.
    """
    began_at = time.time()
    try:
        pin = renew_pin(client, snapshot.pin_id, options.lease_secs)
    except NotFound:
        try:
            pin = take_pin(
                client,
                options.dataset,
                snapshot.version,
                options.lease_secs,
                pin_id=snapshot.pin_id,
            )
        except VersionExpired as error:
            raise _lost(snapshot) from error
    return replace(snapshot, pinned_at=began_at, lease_secs=pin.left_secs)


@contextmanager
def kept(options: SourceOptions, snapshot: Snapshot) -> Iterator[Callable[[], None]]:
    """Renew a pin while a task reads.

    Give what raises PinLost once the pin was released or has lapsed; so does an error of the read
    then. If meta does not answer, the lease continues by itself.
    """
    stop, is_lost = threading.Event(), threading.Event()
    interval = max(1.0, snapshot.lease_secs / 3)

    def renew() -> None:
        wait = snapshot.pinned_at + interval - time.time()
        while not stop.wait(max(0.0, min(wait, interval))):
            if _is_lost(options, snapshot):
                is_lost.set()
                return
            wait = interval

    def check() -> None:
        if is_lost.is_set():
            raise _lost(snapshot)

    thread = threading.Thread(target=renew, name="segplane-pin", daemon=True)
    thread.start()
    try:
        yield check
    except ReadError as error:
        if not isinstance(error, PinLost) and _is_lost(options, snapshot):
            raise _lost(snapshot) from error
        raise
    finally:
        stop.set()


def _is_lost(options: SourceOptions, snapshot: Snapshot) -> bool:
    """Renew a pin, and return whether it was released or has lapsed."""
    try:
        with options.client() as client:
            renew_pin(client, snapshot.pin_id, options.lease_secs, _RENEW_DEADLINE_SECS)
    except NotFound:
        return True
    except (MetaError, ReadError):
        # Executors may not have the driver's CA file either.
        pass
    return False


def _lost(snapshot: Snapshot) -> PinLost:
    return PinLost(
        f"dataset {snapshot.dataset_name!r} is no longer kept at version {snapshot.version},"
        " so its files may be deleted: load it again"
    )
