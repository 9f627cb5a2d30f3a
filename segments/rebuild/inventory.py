"""Reads the input of a rebuild: every merged segment's footer, every baby's stamps."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from sys import intern

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
from segments.rebuild.spilled_segments import SpilledSegments
from segments.store.interface import ObjectInfo, ObjectStore


@dataclass(frozen=True, slots=True)
class Inventory:
    """The objects of a bucket; `unread` are those under our prefixes that cannot be used.

    `hidden` are keys of hidden segments. Their records are not a gap, but none is live.
    """

    segments: SpilledSegments
    babies: tuple[BabyFound, ...]
    unread: tuple[Dropped, ...]
    hidden: frozenset[str] = frozenset()


def read_inventory(store: ObjectStore) -> Inventory:
    """Read the whole bucket; no process may write until it ends."""
    babies: list[BabyFound] = []
    unread: list[Dropped] = []
    segments = SpilledSegments()
    segments.add(_segments(store, babies, unread))
    markers = read_markers(store)
    marked = {*markers.hidden, *(key for pair in markers.replaced for key in pair)}
    readable = segments.among(marked)
    reasons = {key: markers.reason(key, readable) for key in sorted(readable)}
    unread += [Dropped(key, reason) for key, reason in reasons.items() if reason == "replaced"]
    segments.remove([key for key, reason in reasons.items() if reason == "replaced"])
    hidden = frozenset(key for key, reason in reasons.items() if reason == "hidden")
    return Inventory(segments, tuple(babies), tuple(unread), hidden)


def _segments(
    store: ObjectStore, babies: list[BabyFound], unread: list[Dropped]
) -> Iterator[SegmentFound]:
    """Read all objects; yields segments, and collects the others."""
    stamps: dict[frozenset[str], frozenset[str]] = {}
    objects = list_objects(store, DATASETS_ROOT, BABIES_ROOT)
    for item in read_each(partial(_read, store, read_kept(store)), objects):
        match item:
            case SegmentFound():
                yield item
            case BabyFound():
                ids = item.dataset_ids
                shared = None if ids is None else stamps.setdefault(ids, ids)
                babies.append(replace(item, stream_id=intern(item.stream_id), dataset_ids=shared))
            case Dropped():
                unread.append(item)


def _read(
    store: ObjectStore, kept: Collection[str], info: ObjectInfo
) -> SegmentFound | BabyFound | Dropped | None:
    """Read one object; None for a name below the root of babies that is not a baby's."""
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
