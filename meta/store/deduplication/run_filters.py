"""Filters of large runs of deduplication keys, in the memory of a process.

A look-up reads only those of such runs that may have one of its deduplication keys. A run never
changes and its `uid` is random, so a filter is right as long as its run is there, also after a
restore. Nothing depends on a filter: a run without one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from meta.store.deduplication import sorted_runs
from meta.store.deduplication.sorted_runs import OF_DAYS, YOUNG, LargeRun
from meta.store.engine import driver_statements
from meta.store.engine.pool import Database

if TYPE_CHECKING:
    from meta.store.deduplication.keyed_hashes import KeptHashes, RunFilter

# Until the first refresh says how much a process may keep.
BYTES_MAX_AT_START = 4 * 1024 * 1024
# Pages of one read: 5 MB at most.
PAGES_AT_ONCE = 1_024
# An array begins with 20 bytes of its shape.
_READ = """
    SELECT string_agg(substr(array_send(hashes), 21), ''::bytea) AS elements
    FROM {pages} WHERE run = $1::bigint AND bucket BETWEEN $2::int AND $3::int
"""
_READS = {pages: _READ.format(pages=pages).encode() for pages in (YOUNG, *OF_DAYS)}


@dataclass(frozen=True, slots=True)
class FilteredRuns:
    """The runs that have a filter, and the sorted hashes that they may have.

    The positions of those of the run `uids[i]` end at `ends[i]`, where those of the next begin.
    """

    uids: Sequence[str] = ()
    positions: Sequence[int] = ()
    ends: Sequence[int] = ()


class RunFilters:
    """The filters of a process, of all its databases. Its dictionary is replaced, never changed."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._filters: dict[str, RunFilter] = {}
        self._bytes_max = BYTES_MAX_AT_START
        # Filters that the last refresh has seen. Runs of others may not be committed yet.
        self._seen: set[str] = set()
        self._changes = Lock()

    def apply(self, dataset_key: int, ordered: KeptHashes) -> FilteredRuns:
        """Pass sorted hashes through the filters of a dataset's runs."""
        from meta.store.deduplication.keyed_hashes import masks_of

        filters = {uid: run for uid, run in self._filters.items() if run.dataset_key == dataset_key}
        if not filters:
            return FilteredRuns()
        positions, ends, halves = list[int](), list[int](), ordered[:, 0]
        masks = masks_of(halves)
        for run_filter in filters.values():
            positions += run_filter.positions(halves, masks).tolist()
            ends.append(len(positions))
        return FilteredRuns(tuple(filters), positions, ends)

    def add(self, uid: str, dataset_key: int, hashes: KeptHashes) -> None:
        """Make the filter of a new run, unless it is too small or there is no room.

        If the run is not committed, the second refresh from now drops it.
        """
        from meta.store.deduplication.keyed_hashes import RunFilter

        if len(hashes) >= sorted_runs.FILTERED_MIN:
            run_filter = RunFilter(dataset_key, len(hashes))
            run_filter.add(hashes[:, 0])
            self._put(uid, run_filter)

    def refresh(
        self,
        database: Database,
        bytes_max: int,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> int:
        """Drop the filters of deleted runs, and make those that are missing, within a size.

        Smaller runs come first, because each filter spares the same look-ups. Returns how many
        were made.
        """
        with database.read() as tx:
            runs = sorted_runs.list_large(tx, bytes_max)
        uids = {run.uid for run in runs}
        with self._changes:
            self._bytes_max = bytes_max
            self._filters = {
                uid: made
                for uid, made in self._filters.items()
                if uid in uids or uid not in self._seen
            }
            self.size_bytes = sum(made.size_bytes for made in self._filters.values())
        num_made = 0
        for run in runs:
            if is_stopped():
                break
            if run.uid not in self._filters:
                made = _made(database, run, is_stopped)
                num_made += made is not None and self._put(run.uid, made)
        self._seen = set(self._filters)
        return num_made

    def _put(self, uid: str, run_filter: RunFilter) -> bool:
        with self._changes:
            if self.size_bytes + run_filter.size_bytes > self._bytes_max:
                return False
            self._filters = self._filters | {uid: run_filter}
            self.size_bytes += run_filter.size_bytes
        return True


# Ids of runs are random, so the databases of a process share it.
FILTERS = RunFilters()


def _made(database: Database, run: LargeRun, is_stopped: Callable[[], bool]) -> RunFilter | None:
    """The filter of a run, read in parts; None if it was merged or dropped meanwhile, or at a stop.

    Pages of a run go with it, so fewer deduplication keys are read then.
    """
    from meta.store.deduplication.keyed_hashes import RunFilter

    made = RunFilter(run.dataset_key, run.deduplication_keys)
    for low in range(0, 1 << run.bits, PAGES_AT_ONCE):
        if is_stopped():
            return None
        values = [str(value) for value in (run.id, low, low + PAGES_AT_ONCE - 1)]
        (elements,) = driver_statements.fetch_row(database, _READS[run.table], values)
        made.add_elements(bytes(elements or b""))
    return made if made.num_added == run.deduplication_keys else None
