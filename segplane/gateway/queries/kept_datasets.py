"""Datasets that a caller's queries have opened, kept open for its next ones.

To open a dataset means to pin a version, to list its files and to read its columns, which is most
of a short query. meta is asked with each query, by its caller's token, whether a kept dataset is
still what the caller would get; one call answers that.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from kql.typed import Table
from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound, ReplyTooLarge, RoleRefused, VersionExpired
from meta.v1 import operations_pb2 as ops
from segments.signals import SIGNALS
from segplane.gateway.http import metrics
from segplane.read.bounds import TimeBounds, widened
from segplane.read.dataset import OpenDataset
from segplane.read.errors import PinLost, meta_refusals
from segplane.read.files.files import DatasetFile, find_files
from segplane.read.opening import open_through
from segplane.read.views.view_sql import table_with

KEPT_MAX = 32
FILES_MAX = 100_000
LISTS_MAX = 4
# A dashboard that refreshes once a minute finds nothing; its panels share what the first opened.
IDLE_SECS = 20.0
# Facts of files that meta learns without a new version reach queries within this time.
AGE_SECS_MAX = 60.0
_STRIPES = 64
Connect = Callable[[], MetaClient]


@dataclass(eq=False, slots=True)
class _Kept:
    """An open dataset, and the files of it that were listed, by bounds of time."""

    opened: OpenDataset
    opened_at: float
    used_at: float
    users: int = 0
    is_dropped: bool = False
    lists: OrderedDict[TimeBounds, tuple[DatasetFile, ...]] = field(default_factory=OrderedDict)

    @property
    def files(self) -> int:
        """The listed files."""
        return sum(map(len, self.lists.values()))


class DatasetUse:
    """A query's use of an open dataset, until `end`.

    The dataset has the same segments and columns at each version from the pinned one to `through`.
    """

    def __init__(self, keeper: KeptDatasets, kept: _Kept, through: int) -> None:
        self._keeper, self._kept = keeper, kept
        self.through = through
        self.dataset_id = kept.opened.dataset_id
        self.promoted_columns = kept.opened.promoted_columns

    def table(self, name: str) -> Table:
        """Return the dataset's columns as queries see them."""
        automatic = self._kept.opened.automatic_columns
        return table_with(
            self.promoted_columns,
            name,
            self.dataset_id,
            is_complete=True,
            has_words=True,
            automatic=automatic,
        )

    def is_at(self, version: int | None) -> bool:
        """Return true if the dataset is known to be the same at a version, None = at `through`."""
        return version is None or self._kept.opened.version <= version <= self.through

    def files(self, bounds: TimeBounds) -> tuple[DatasetFile, ...]:
        """List the files that may hold records of some time. Raises ReadError."""
        wider = widened(bounds, time.time_ns())
        files = self._keeper.listed(self._kept, wider)
        return tuple(f for f in files if bounds.overlap(f.start_time, f.end_time))

    def check(self) -> None:
        """Raise PinLost if the files may have been deleted."""
        self._kept.opened.check()

    def end(self) -> None:
        """Let the dataset be closed."""
        self._keeper.release(self._kept)


class KeptDatasets:
    """Open datasets by caller and name: at most 32, which list at most 100,000 files together.

    Each is closed 20 s after its last use, or 60 s after it was opened. Safe for many threads.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        # Dropped while queries used them.
        self._leaving: list[_Kept] = []
        self._changed = threading.Condition()
        # One query opens a dataset for all that wait for it.
        self._stripes = [threading.Lock() for _ in range(_STRIPES)]
        self._sweeper: threading.Thread | None = None
        self._is_closed = False

    def find(self, caller: str, client: MetaClient, name: str) -> DatasetUse | None:
        """Return a kept dataset if the caller would get the same by opening it, else None.

        `client` has the caller's rights. Raises MetaError if meta cannot be asked.
        """
        kept = self._taken((caller, name), float("-inf"))
        if kept is None:
            return None
        try:
            through = _unchanged_through(client, name, kept.opened)
        except BaseException:
            self.release(kept)
            raise
        if through is None:
            self._drop((caller, name), kept)
            self.release(kept)
            return None
        metrics.KEPT_DATASETS_USED.inc()
        return DatasetUse(self, kept, through)

    def open(
        self, caller: str, connect: Connect, name: str, version: int | None, bounds: TimeBounds
    ) -> DatasetUse:
        """Open a dataset at a version, None = the current one, and keep it.

        The files of some time are listed at once. Raises ReadError.
        """
        arrived_at = self._monotonic()
        key = (caller, name)
        with self._stripes[hash(key) % _STRIPES]:
            kept = self._taken(key, arrived_at)
            if kept is not None:
                use = DatasetUse(self, kept, kept.opened.version)
                if use.is_at(version):
                    return use
                self.release(kept)
            wider, opened_at = widened(bounds, time.time_ns()), self._monotonic()
            # The process looks at files of others: they are not opened here.
            opened = open_through(connect(), name, wider, None, version, looks_at_files=False)
            kept = _Kept(opened, opened_at, opened_at, users=1)
            kept.lists[wider] = opened.files()
            metrics.OPENED_DATASETS.inc()
            self._keep(key, kept)
            return DatasetUse(self, kept, opened.version)

    def listed(self, kept: _Kept, bounds: TimeBounds) -> tuple[DatasetFile, ...]:
        """Return the files of some time. Raises ReadError."""
        with self._changed:
            files = kept.lists.get(bounds)
            if files is not None:
                kept.lists.move_to_end(bounds)
                return files
        opened = kept.opened
        with meta_refusals(opened.pin.client):
            files = find_files(opened.pin.client, opened.name, opened.version, SIGNALS, bounds)
        if len(files) <= FILES_MAX:
            with self._changed:
                kept.lists[bounds] = files
                if len(kept.lists) > LISTS_MAX:
                    kept.lists.popitem(last=False)
                self._shrink()
        return files

    def release(self, kept: _Kept) -> None:
        """End one use."""
        with self._changed:
            kept.users -= 1
            kept.used_at = self._monotonic()
            self._changed.notify()

    def close(self) -> None:
        """Close every dataset."""
        with self._changed:
            self._is_closed = True
            for key, kept in list(self._kept.items()):
                self._drop(key, kept)
            going = list(self._leaving)
            self._leaving.clear()
            self._changed.notify()
        if going:
            with ThreadPoolExecutor(len(going)) as pool:
                list(pool.map(lambda kept: kept.opened.close(), going))

    def _taken(self, key: tuple[str, str], since: float) -> _Kept | None:
        """Begin a use of what was opened since a time, if it is kept and its pin holds."""
        with self._changed:
            kept = self._kept.get(key)
            if kept is None or kept.opened_at < since or self._is_over(kept):
                return None
            try:
                kept.opened.check()
            except PinLost:
                self._drop(key, kept)
                return None
            self._kept.move_to_end(key)
            kept.users += 1
            return kept

    def _keep(self, key: tuple[str, str], kept: _Kept) -> None:
        with self._changed:
            before = self._kept.get(key)
            if before is not None:
                self._drop(key, before)
            if self._is_closed:
                kept.is_dropped = True
                self._leaving.append(kept)
            else:
                self._kept[key] = kept
            self._shrink()
            if self._sweeper is None:
                self._sweeper = threading.Thread(
                    target=self._sweep, name="segplane-kept-datasets", daemon=True
                )
                self._sweeper.start()

    def _drop(self, key: tuple[str, str], kept: _Kept) -> None:
        """Have it closed at the end of its last use."""
        with self._changed:
            if not kept.is_dropped:
                kept.is_dropped = True
                del self._kept[key]
                self._leaving.append(kept)
                self._changed.notify()

    def _shrink(self) -> None:
        """Drop the datasets whose last use is longest ago, until what is kept is within bounds."""
        files = sum(kept.files for kept in self._kept.values())
        while len(self._kept) > KEPT_MAX or files > FILES_MAX:
            key, kept = next(iter(self._kept.items()))
            files -= kept.files
            self._drop(key, kept)

    def _is_over(self, kept: _Kept) -> bool:
        now = self._monotonic()
        is_idle = not kept.users and now - kept.used_at >= IDLE_SECS
        return is_idle or now - kept.opened_at >= AGE_SECS_MAX

    def _sweep(self) -> None:
        """Close datasets whose time is over, until there are none."""
        while True:
            with self._changed:
                for key, kept in list(self._kept.items()):
                    if self._is_over(kept):
                        self._drop(key, kept)
                going = [kept for kept in self._leaving if not kept.users]
                self._leaving = [kept for kept in self._leaving if kept.users]
                if not (going or self._kept or self._leaving):
                    self._sweeper = None
                    return
                if not going:
                    self._changed.wait(1.0)
            for kept in going:
                kept.opened.close()


def _unchanged_through(client: MetaClient, name: str, opened: OpenDataset) -> int | None:
    """Return the version through which a dataset is as it was opened; None if it has changed.

    Raises MetaError.
    """
    request = ops.ListDatasetChangesRequest(
        dataset_name=name, since_version=opened.version, limit=1, with_columns=True
    )
    try:
        reply = client.operations.ListDatasetChanges(request)
    except (InvalidArgument, NotFound, RoleRefused, VersionExpired, ReplyTooLarge):
        # Opening it gives the caller the reason.
        return None
    is_same = (
        not reply.changes
        and reply.dataset_id == opened.dataset_id
        and tuple(reply.promoted_columns) == opened.promoted_columns
    )
    return reply.through_version if is_same else None
