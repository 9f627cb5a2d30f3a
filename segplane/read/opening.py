"""Opening a dataset: its version pinned, its files and fresh records listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from meta.client import MetaClient
from meta.errors import VersionExpired
from segments.signals import SIGNALS, Signal
from segplane.read.bounds import Moment, TimeBounds, moment_nanos, time_bounds
from segplane.read.connection import connect
from segplane.read.dataset import OpenDataset, Progress
from segplane.read.errors import ReadError, meta_refusals
from segplane.read.files.files import find_files, signals_of
from segplane.read.files.left_out import readable, warn
from segplane.read.lookup import settings_at
from segplane.read.pins import VersionPin, release_pin, take_pin
from segplane.read.restores import warn_of_restore
from segplane.read.rows.fresh import find_fresh

# Tries of a fresh reading that a nursery overtakes.
_TRIES_MAX = 5


def open_dataset(
    name: str,
    signal: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    columns: Sequence[str] | None = None,
    *,
    as_of: Moment | None = None,
    fresh: bool = False,
    adjust_time: bool = False,
    meta_address: str | None = None,
    token: str | None = None,
    ca: str | Path | None = None,
    tenant: str | None = None,
    progress: Progress | None = None,
) -> OpenDataset:
    """Open a dataset at a version, the current one unless `as_of` names another.

    `as_of` is the version's number, or a time: the version of then, to a transaction's length.
    `start` and `end` are event times, [start, end): RFC 3339, an age such as "90m", an aware
    datetime, or nanoseconds. The version is kept from deletion until `close`. `fresh` adds records
    that are committed and not merged yet: with it these are all records that were acknowledged
    before the call. `adjust_time` adds the dataset's time adjustment to the times of records, of
    which `start` and `end` are then. `tenant` is that of the name, for a token of several tenants.
    `progress` is called with rows read and rows to read at most. Warns of a database that was
    restored, until its records are back. Raises ReadError.
    """
    signals, bounds = signals_of(signal), time_bounds(start, end)
    access = {"token": token or "", "ca": str(ca or ""), "tenant": tenant or ""}
    for is_last in (*[False] * (_TRIES_MAX - 1), True):
        client = connect(meta_address, token, ca, tenant)
        try:
            return open_through(
                client,
                name,
                bounds,
                columns,
                as_of,
                signals,
                fresh=fresh,
                adjust_time=adjust_time,
                progress=progress,
                access=access,
            )
        except ReadError as error:
            # A baby without stamps was merged since the pin: its routing is forgotten.
            if is_last or as_of is not None or not isinstance(error.__cause__, VersionExpired):
                raise
    raise AssertionError("the last try returns or raises")


def open_through(
    client: MetaClient,
    name: str,
    bounds: TimeBounds,
    columns: Sequence[str] | None,
    as_of: Moment | None = None,
    signals: tuple[Signal, ...] = SIGNALS,
    *,
    fresh: bool = False,
    adjust_time: bool = False,
    progress: Progress | None = None,
    access: Mapping[str, str] | None = None,
    looks_at_files: bool = True,
) -> OpenDataset:
    """Open a dataset by a client, which belongs to the dataset then. Raises ReadError.

    Warns of files of others that are skipped, and of a restored database. Without `looks_at_files`
    no file is skipped, and a reader of them calls `readable`.
    """
    pin = _pinned(client, name, as_of)
    try:
        with meta_refusals(client):
            settings = settings_at(client, pin.dataset_id, pin.version)
            adjustment = settings.time_adjustment_nanos if adjust_time else 0
            bounds = bounds.moved(-adjustment)
            files = find_files(client, name, pin.version, signals, bounds)
            files, left_out = readable(name, files) if looks_at_files else (files, ())
            beyond = find_fresh(client, pin.dataset_id, pin.version) if fresh else None
        dataset = OpenDataset(
            name,
            pin,
            signals,
            bounds,
            files,
            tuple(settings.promoted_columns.columns),
            columns,
            progress,
            access or {},
            beyond,
            left_out,
            settings.automatic_columns,
            time_adjustment=adjustment,
        )
        warn(left_out)
        if looks_at_files:
            warn_of_restore(client)
        return dataset if columns is None else dataset.checked()
    except BaseException:
        pin.close()
        raise


@contextmanager
def version_at(
    names: Sequence[str],
    as_of: Moment | None,
    meta_address: str | None = None,
    token: str | None = None,
    ca: str | Path | None = None,
    tenant: str | None = None,
) -> Iterator[int | None]:
    """Give the version at which to read several datasets, None for the current one.

    Versions rise with time, so the greatest that one of them had at a time shows each as it was.
    It is kept from deletion in that time. Raises ReadError.
    """
    if as_of is None or isinstance(as_of, int):
        yield as_of
        return
    with ExitStack() as stack:
        versions = []
        for name in names:
            pin = _pinned(connect(meta_address, token, ca, tenant), name, as_of)
            stack.callback(pin.close)
            versions.append(pin.version)
        yield max(versions, default=None)


def state_at(client: MetaClient, name: str, as_of: str | datetime) -> tuple[str, int]:
    """Return the id of the dataset that had a name at a time, and its version then.

    Raises MetaError.
    """
    pin = take_pin(client, name, as_of_nanos=moment_nanos("as_of", as_of))
    release_pin(client, pin.id)
    return pin.dataset_id, pin.version


def _pinned(client: MetaClient, name: str, as_of: Moment | None) -> VersionPin:
    try:
        with meta_refusals(client):
            if as_of is None or isinstance(as_of, int):
                return VersionPin.take(client, name, as_of)
            return VersionPin.take(client, name, None, moment_nanos("as_of", as_of))
    except BaseException:
        client.close()
        raise
