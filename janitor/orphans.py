"""Orphans: objects that no row knows. They are listed first, condemned second, deleted third.

An orphan may be the work of a writer that stalls before it registers. Condemning takes the key in
meta, so that such a writer is refused afterwards; without it a live segment could lose its object.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from meta import metrics
from meta.process import Shutdown
from segments.keys import BABIES_ROOT, DATASETS_ROOT, AttemptKey, BabyKey, MergedKey, parse_key
from segments.store.interface import ObjectInfo, ObjectStore

log = structlog.get_logger()
CONDEMN_KEYS_MAX = 1_000
# A wrong answer of meta, or a database from the wrong backup, must not empty a dataset at once.
DELETED_SHARE = 10
DELETED_FLOOR = 100
# Bounds the keys held in memory; the rest waits for the next sweep.
DELETED_MAX = 100_000


class Condemn(Protocol):
    """Asks meta which of at most 1,000 keys no row knows; without dry_run they are condemned."""

    def __call__(self, keys: Sequence[str], *, dry_run: bool) -> Iterable[str]:
        """Return the keys that are, or would be, condemned."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """What one dataset or stream holds. `foreign` counts keys that are not ours to touch."""

    listed: int
    foreign: int
    orphans: Sequence[str]


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep came to; `left` are orphans beyond the cap, for the next sweep."""

    listed: int = 0
    foreign: int = 0
    deleted: int = 0
    left: int = 0

    def plus(self, found: Found, deleted: int) -> "Swept":
        """The sum with one more dataset or stream."""
        return Swept(
            self.listed + found.listed,
            self.foreign + found.foreign,
            self.deleted + deleted,
            self.left + len(found.orphans) - deleted,
        )


def sweep(
    store: ObjectStore, condemn: Condemn, written_until_nanos: int, shutdown: Shutdown
) -> Swept:
    """Delete orphans written up to the given time; returns early on shutdown."""
    swept = Swept()
    for root in (BABIES_ROOT, DATASETS_ROOT):
        for owner, objects in itertools.groupby(store.list(root), key=owner_of):
            found = find_orphans(objects, condemn, written_until_nanos, shutdown)
            if shutdown.is_requested:
                return swept
            deleted = _delete(store, condemn, found, shutdown)
            swept = swept.plus(found, deleted)
            if deleted < len(found.orphans):
                log.warning("orphans_left", owner=owner, found=len(found.orphans), deleted=deleted)
    return swept


def owner_of(info: ObjectInfo) -> str:
    """The folder of the dataset or stream; its objects lie side by side in a listing."""
    return "/".join(info.key.split("/")[:2])


def is_ours(key: str) -> bool:
    """Whether the key is one that we write, letter by letter; no other is ever deleted."""
    return isinstance(parse_key(key), BabyKey | MergedKey | AttemptKey)


def delete_cap(listed: int) -> int:
    """How many orphans of a dataset or stream with so many objects one sweep may delete."""
    return min(max(DELETED_FLOOR, listed // DELETED_SHARE), DELETED_MAX)


def find_orphans(
    objects: Iterable[ObjectInfo],
    condemn: Condemn,
    written_until_nanos: int,
    shutdown: Shutdown,
) -> Found:
    """Ask meta about the old objects of one dataset or stream; changes nothing."""
    listed = foreign = 0

    def candidates() -> Iterator[str]:
        nonlocal listed, foreign
        for info in objects:
            listed += 1
            if not is_ours(info.key):
                foreign += 1
            elif info.modified_at_nanos <= written_until_nanos:
                yield info.key

    orphans: list[str] = []
    for keys in batches(candidates(), CONDEMN_KEYS_MAX):
        if shutdown.is_requested:
            break
        if len(orphans) <= DELETED_MAX:
            orphans += _only(keys, condemn(keys, dry_run=True))
    return Found(listed, foreign, orphans)


def batches(keys: Iterable[str], size: int) -> Iterator[list[str]]:
    """Cut keys into lists of at most `size`."""
    rest = iter(keys)
    while batch := list(itertools.islice(rest, size)):
        yield batch


def _delete(store: ObjectStore, condemn: Condemn, found: Found, shutdown: Shutdown) -> int:
    deleted = 0
    allowed = found.orphans[: delete_cap(found.listed - found.foreign)]
    for keys in batches(allowed, CONDEMN_KEYS_MAX):
        if shutdown.is_requested:
            break
        # Fewer than the dry run said, if a writer has registered its object since.
        condemned = _only(keys, condemn(keys, dry_run=False))
        store.delete(condemned)
        deleted += len(condemned)
        metrics.DELETED_OBJECTS.labels("orphan").inc(len(condemned))
    return deleted


def _only(asked: Sequence[str], answered: Iterable[str]) -> list[str]:
    """The answered keys, but none that was not asked about."""
    named = set(answered)
    return [key for key in asked if key in named]
