"""The version of a dataset that a data frame reads, and the lease that keeps it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

from meta.client import MetaClient
from meta.errors import MetaError, NotFound, VersionExpired
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segplane.read.bounds import TimeBounds
from segplane.read.errors import PinLost, ReadError, meta_refusals
from segplane.read.opening import owner
from segplane.read.spark.options import SourceOptions

_RENEW_DEADLINE_SECS = 5.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A pinned version; `pinned_at` is the planner's clock when the lease began, in seconds."""

    dataset_name: str
    dataset_id: str
    version: int
    pin_id: str
    pinned_at: float
    lease_secs: int
    bounds: TimeBounds
    promoted: tuple[common_pb2.PromotedColumn, ...]


def open_snapshot(options: SourceOptions) -> Snapshot:
    """Pin the version that is asked for, or the current one. Raises ReadError."""
    with options.client() as client, meta_refusals(client):
        return snapshot_of(client, options)


def snapshot_of(client: MetaClient, options: SourceOptions) -> Snapshot:
    """Pin the version that is asked for, or the current one. Raises ReadError, MetaError."""
    bounds = options.bounds()
    pin_id, began_at = str(uuid4()), time.time()
    pin = take_pin(client, options, pin_id, options.version)
    return Snapshot(
        pin.dataset_name,
        pin.dataset_id,
        pin.version,
        pin_id,
        began_at,
        pin.left_secs,
        bounds,
        promoted_columns(client, pin.dataset_id, pin.version),
    )


def take_pin(
    client: MetaClient,
    options: SourceOptions,
    pin_id: str,
    version: int | None,
    *,
    holds_changes: bool = False,
) -> pb.Pin:
    """Pin a version, None = the current one. Raises MetaError."""
    request = pb.PinVersionRequest(
        pin_id=pin_id,
        owner=owner(),
        dataset_name=options.dataset,
        version=version,
        lease_secs=options.lease_secs,
        holds_changes=holds_changes,
    )
    return client.operations.PinVersion(request).pin


def promoted_columns(
    client: MetaClient, dataset_id: str, version: int
) -> tuple[common_pb2.PromotedColumn, ...]:
    """The promoted columns that a dataset has at a version. Raises MetaError."""
    request = pb.GetDatasetSettingsRequest(dataset_id=dataset_id, columns_at=version)
    settings = client.operations.GetDatasetSettings(request).settings
    return tuple(settings.promoted_columns.columns)


def renewed(client: MetaClient, options: SourceOptions, snapshot: Snapshot) -> Snapshot:
    """Begin the lease again, by another pin if the first has lapsed and nothing was deleted.

    Raises PinLost, MetaError.
    """
    began_at = time.time()
    try:
        request = pb.RenewPinRequest(pin_id=snapshot.pin_id, lease_secs=options.lease_secs)
        pin = client.operations.RenewPin(request).pin
    except NotFound:
        try:
            pin = take_pin(client, options, snapshot.pin_id, snapshot.version)
        except VersionExpired as error:
            raise _lost(snapshot) from error
    return replace(snapshot, pinned_at=began_at, lease_secs=pin.left_secs)


@contextmanager
def kept(options: SourceOptions, snapshot: Snapshot) -> Iterator[threading.Event]:
    """Renew a pin while a task reads; the event is set once it was released or has lapsed.

    If meta does not answer, the lease continues by itself.
    """
    stop, is_lost = threading.Event(), threading.Event()
    interval = max(1.0, snapshot.lease_secs / 3)

    def renew() -> None:
        wait = snapshot.pinned_at + interval - time.time()
        while not stop.wait(max(0.0, min(wait, interval))):
            request = pb.RenewPinRequest(pin_id=snapshot.pin_id, lease_secs=options.lease_secs)
            try:
                with options.client() as client:
                    client.operations.RenewPin(request, timeout=_RENEW_DEADLINE_SECS)
            except NotFound:
                is_lost.set()
                return
            except (MetaError, ReadError):
                # Executors may not have the driver's CA file either.
                pass
            wait = interval

    thread = threading.Thread(target=renew, name="segplane-pin", daemon=True)
    thread.start()
    try:
        yield is_lost
    finally:
        stop.set()


def check_kept(snapshot: Snapshot, is_lost: threading.Event) -> None:
    """Raise PinLost if the version may have been deleted."""
    if is_lost.is_set():
        raise _lost(snapshot)


@contextmanager
def explained(options: SourceOptions, snapshot: Snapshot) -> Iterator[None]:
    """Turn what cannot be read into PinLost if the version is no longer kept."""
    try:
        yield
    except ReadError as error:
        request = pb.RenewPinRequest(pin_id=snapshot.pin_id, lease_secs=options.lease_secs)
        try:
            with options.client() as client:
                client.operations.RenewPin(request, timeout=_RENEW_DEADLINE_SECS)
        except NotFound:
            raise _lost(snapshot) from error
        except (MetaError, ReadError):
            pass
        raise


def _lost(snapshot: Snapshot) -> PinLost:
    return PinLost(
        f"dataset {snapshot.dataset_name!r} is no longer kept at version {snapshot.version},"
        " so its files may be deleted: load it again"
    )
