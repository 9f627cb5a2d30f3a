"""Orphans: objects that rows of meta prove to be garbage. They are listed, condemned, deleted.

That no row names an object is not proof: after a restore the database is older than the bucket.
The writer of an orphan may be stalled before its registration. Condemning reserves the key in
meta, so that such a writer is refused; without it a live segment could lose its object.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from meta import metrics
from meta.process.shutdown import Shutdown
from segments.inventory.listing import batches, by_owner, list_objects
from segments.keys import (
    BABIES_ROOT,
    DATASETS_ROOT,
    TABLES_ROOT,
    AttemptKey,
    BabyKey,
    MergedKey,
    TableKey,
    parse_key,
)
from segments.store.interface import ObjectInfo, ObjectStore

log = structlog.get_logger()
CONDEMN_KEYS_MAX = 1_000
# Bounds the damage of a wrong answer of meta, or of a database restored from the wrong backup.
DELETED_SHARE = 10
DELETED_FLOOR = 100
# Bounds the keys held in memory; the remaining orphans are left to the next sweep.
DELETED_MAX = 100_000


class Condemn(Protocol):
    """Asks meta which of at most 1,000 keys no row names; without dry_run they are condemned."""

    def __call__(self, keys: Sequence[str], *, dry_run: bool) -> Iterable[str]:
        """Return the keys that are, or would be, condemned."""
        ...


@dataclass(frozen=True, slots=True)
class PrefixScan:
    """The objects of one dataset or stream. `foreign` counts keys that Segplane never writes.

    `orphans` are keys with their sizes in bytes.
    """

    listed: int
    foreign: int
    orphans: Mapping[str, int]


@dataclass(slots=True)
class SweepTotals:
    """Totals of a sweep; `remaining` counts the orphans above the cap."""

    listed: int = 0
    foreign: int = 0
    deleted: int = 0
    deleted_bytes: int = 0
    remaining: int = 0

    def add(self, scan: PrefixScan, deleted: Sequence[str]) -> None:
        """Add one more dataset or stream, of which some orphans were deleted."""
        self.listed += scan.listed
        self.foreign += scan.foreign
        self.deleted += len(deleted)
        self.deleted_bytes += sum(scan.orphans[key] for key in deleted)
        self.remaining += len(scan.orphans) - len(deleted)


def sweep(
    store: ObjectStore,
    condemn: Condemn,
    written_until_nanos: int,
    shutdown: Shutdown,
    is_permitted: Callable[[], bool] = lambda: True,
    dataset_id: str = "",
) -> SweepTotals:
    """Delete orphans written up to the given time; returns early on shutdown.

    `is_permitted` is asked before each deletion; without it nothing more is deleted. With a
    `dataset_id` only the objects of that dataset are looked at.
    """
    swept = SweepTotals()
    for owner, objects in _by_owner(store, dataset_id):
        scan = scan_prefix(objects, condemn, written_until_nanos, shutdown)
        if shutdown.is_requested:
            return swept
        deleted = _delete(store, condemn, scan, shutdown, is_permitted)
        swept.add(scan, deleted)
        if len(deleted) < len(scan.orphans):
            counts = {"found": len(scan.orphans), "deleted": len(deleted)}
            log.warning("orphans_left", owner=owner, **counts)
    return swept


def _by_owner(store: ObjectStore, dataset_id: str) -> Iterator[tuple[str, Iterator[ObjectInfo]]]:
    dataset_folder = f"{dataset_id}/" if dataset_id else ""
    # A baby segment holds records of many datasets.
    roots = (TABLES_ROOT + dataset_folder,) if dataset_folder else (BABIES_ROOT, TABLES_ROOT)
    yield from by_owner(list_objects(store, *roots))
    # In any store, and last: one that is away holds up nothing of the default one.
    yield from by_owner(list_objects(store, DATASETS_ROOT + dataset_folder))


def is_ours(key: str) -> bool:
    """Whether the key has exactly the form of one that Segplane writes; no other is deleted."""
    return isinstance(parse_key(key), BabyKey | MergedKey | AttemptKey | TableKey)


def delete_cap(listed: int) -> int:
    """Limit on the orphans that one sweep deletes of a dataset or stream with `listed` objects."""
    return min(max(DELETED_FLOOR, listed // DELETED_SHARE), DELETED_MAX)


def scan_prefix(
    objects: Iterable[ObjectInfo],
    condemn: Condemn,
    written_until_nanos: int,
    shutdown: Shutdown,
) -> PrefixScan:
    """Find the orphans among the old objects of one dataset or stream; changes nothing."""
    listed = foreign = 0

    def candidates() -> Iterator[ObjectInfo]:
        nonlocal listed, foreign
        for info in objects:
            listed += 1
            if not is_ours(info.key):
                foreign += 1
            elif info.modified_at_nanos <= written_until_nanos:
                yield info

    orphans: dict[str, int] = {}
    for some in batches(candidates(), CONDEMN_KEYS_MAX):
        if shutdown.is_requested:
            break
        if len(orphans) <= DELETED_MAX:
            sizes = {info.key: info.size_bytes for info in some}
            orphan_keys = _only(list(sizes), condemn(list(sizes), dry_run=True))
            orphans |= {key: sizes[key] for key in orphan_keys}
    return PrefixScan(listed, foreign, orphans)


def _delete(
    store: ObjectStore,
    condemn: Condemn,
    scan: PrefixScan,
    shutdown: Shutdown,
    is_permitted: Callable[[], bool],
) -> list[str]:
    deleted: list[str] = []
    allowed = itertools.islice(scan.orphans, delete_cap(scan.listed - scan.foreign))
    for keys in batches(allowed, CONDEMN_KEYS_MAX):
        if shutdown.is_requested:
            break
        # Fewer than in the dry run if a writer has registered its object since.
        condemned = _only(keys, condemn(keys, dry_run=False))
        if not is_permitted():
            break
        store.delete(condemned)
        deleted += condemned
        metrics.DELETED_OBJECTS.labels("orphan").inc(len(condemned))
    return deleted


def _only(asked: Sequence[str], answered: Iterable[str]) -> list[str]:
    """The answered keys, without any that was not asked about."""
    answered_keys = set(answered)
    return [key for key in asked if key in answered_keys]
