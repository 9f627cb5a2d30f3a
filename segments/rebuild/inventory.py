"""Reads the input of a rebuild: every merged segment's footer, every baby's stamps."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from segments.errors import CorruptObject, ObjectMissing
from segments.inventory.contents import (
    SegmentFound,
    baby_found,
    decoded,
    find_segment,
    read_each,
)
from segments.inventory.listing import list_objects
from segments.inventory.streams import BabyFound
from segments.keys import BABIES_ROOT, DATASETS_ROOT, AttemptKey, BabyKey, MergedKey, parse_key
from segments.markers import read_kept, read_markers
from segments.rebuild.batches import Dropped
from segments.store.interface import ObjectInfo, ObjectStore


@dataclass(frozen=True, slots=True)
class Inventory:
    """The objects of a bucket; `unread` are those under our prefixes that cannot be used.

    `hidden` are keys of segments that were taken out. Their records are no gap, but none is live.
    """

    segments: tuple[SegmentFound, ...]
    babies: tuple[BabyFound, ...]
    unread: tuple[Dropped, ...]
    hidden: frozenset[str] = frozenset()


def read_inventory(store: ObjectStore) -> Inventory:
    """Read the whole bucket; no process may write until it ends."""
    segments: list[SegmentFound] = []
    babies: list[BabyFound] = []
    unread: list[Dropped] = []
    objects = list_objects(store, DATASETS_ROOT, BABIES_ROOT)
    for item in read_each(partial(_read, store, read_kept(store)), objects):
        match item:
            case SegmentFound():
                segments.append(item)
            case BabyFound():
                babies.append(item)
            case Dropped():
                unread.append(item)
    markers, readable = read_markers(store), {segment.key for segment in segments}
    reasons = {key: markers.reason(key, readable) for key in readable}
    unread += [Dropped(key, reason) for key, reason in reasons.items() if reason == "replaced"]
    return Inventory(
        tuple(segment for segment in segments if reasons[segment.key] != "replaced"),
        tuple(babies),
        tuple(unread),
        frozenset(key for key, reason in reasons.items() if reason == "hidden"),
    )


def _read(
    store: ObjectStore, kept: Collection[str], info: ObjectInfo
) -> SegmentFound | BabyFound | Dropped | None:
    """Read one object; None for a name below the root of babies that is no baby's."""
    name = parse_key(info.key)
    try:
        if isinstance(name, BabyKey):
            return baby_found(info, decoded(store, info.key))
        if not isinstance(name, MergedKey | AttemptKey):
            is_other = info.key.startswith(BABIES_ROOT)
            return None if is_other else Dropped(info.key, "foreign: not a segment's key")
        if name.dataset_id in kept:
            return Dropped(info.key, f"kept: of deleted dataset {name.dataset_id}")
        return find_segment(store, info)
    except (CorruptObject, ObjectMissing) as error:
        return Dropped(info.key, f"unreadable: {error}")
