"""Reads the input of a rebuild: every merged segment's footer, every baby's stamps."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from segments.baby import Baby, decode_baby
from segments.errors import CorruptObject, ObjectMissing
from segments.ids import is_canonical_uuid
from segments.keys import BABIES_ROOT, DATASETS_ROOT, AttemptKey, BabyKey, MergedKey, parse_key
from segments.markers import read_kept, read_markers
from segments.parquet.content import read_content
from segments.parquet.spec import SegmentSpec
from segments.rebuild.batches import Dropped
from segments.rebuild.plan import BabyFound, SegmentFound
from segments.store.interface import ObjectInfo, ObjectStore

THREADS = 8
_AHEAD = 256

Found = TypeVar("Found")


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
    unread: list[Dropped] = []
    merged: list[ObjectInfo] = []
    kept = read_kept(store)
    for info in store.list(DATASETS_ROOT):
        name = parse_key(info.key)
        if isinstance(name, MergedKey | AttemptKey) and name.dataset_id in kept:
            unread.append(Dropped(info.key, f"kept: of deleted dataset {name.dataset_id}"))
        elif isinstance(name, MergedKey | AttemptKey):
            merged.append(info)
        else:
            unread.append(Dropped(info.key, "foreign: not a segment's key"))
    babies = [i for i in store.list(BABIES_ROOT) if isinstance(parse_key(i.key), BabyKey)]
    segments = _read(merged, lambda info: find_segment(store, info), unread)
    markers, readable = read_markers(store), {segment.key for segment in segments}
    reasons = {key: markers.reason(key, readable) for key in readable}
    unread += [Dropped(key, reason) for key, reason in reasons.items() if reason == "replaced"]
    return Inventory(
        tuple(segment for segment in segments if reasons[segment.key] != "replaced"),
        tuple(_read(babies, lambda info: _baby(store, info), unread)),
        tuple(unread),
        frozenset(key for key, reason in reasons.items() if reason == "hidden"),
    )


def find_segment(store: ObjectStore, info: ObjectInfo) -> SegmentFound:
    """Read a merged segment's footer; raises CorruptObject, ObjectMissing."""
    read = read_content(store, info.key)
    stored = read.stored
    return SegmentFound(
        info.key,
        stored.footer,
        stored.rows,
        stored.start_time,
        stored.end_time,
        read.size_bytes,
        info.size_bytes,
        info.modified_at_nanos,
        SegmentSpec(stored.sharding_fields, stored.declared),
        read.content,
    )


def _read(
    infos: Iterable[ObjectInfo],
    read: Callable[[ObjectInfo], Found],
    unread: list[Dropped],
) -> list[Found]:
    """Read objects concurrently; absent and corrupt ones are added to `unread`."""

    def attempt(info: ObjectInfo) -> Found | Dropped:
        try:
            return read(info)
        except (CorruptObject, ObjectMissing) as error:
            return Dropped(info.key, f"unreadable: {error}")

    files: list[Found] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for group in _groups(infos):
            for outcome in pool.map(attempt, group):
                if isinstance(outcome, Dropped):
                    unread.append(outcome)
                else:
                    files.append(outcome)
    return files


def _groups(infos: Iterable[ObjectInfo]) -> Iterator[list[ObjectInfo]]:
    group: list[ObjectInfo] = []
    for info in infos:
        group.append(info)
        if len(group) == _AHEAD:
            yield group
            group = []
    yield group


def _baby(store: ObjectStore, info: ObjectInfo) -> BabyFound:
    return baby_found(info, decoded(store, info.key))


def decoded(store: ObjectStore, key: str) -> Baby | None:
    """Read a baby; None if it is damaged. Raises ObjectMissing."""
    try:
        return decode_baby(store.get(key))
    except CorruptObject:
        return None


def baby_found(info: ObjectInfo, baby: Baby | None) -> BabyFound:
    """Facts of a baby as a catalog has them; None stands for a damaged one."""
    key = parse_key(info.key)
    assert isinstance(key, BabyKey)
    if baby is None:
        # Committed as any other; the nursery reads it again and puts it aside whole.
        return _found(key, info, Baby(is_stamped=False), None, 1)
    if not baby.is_stamped and baby.parts:
        # Nothing counts its records; 0 would have it taken for empty.
        return _found(key, info, baby, None, 1)
    # A stamp is whatever a collector wrote; only meta's own ids can have been a dataset's.
    stamps = frozenset(filter(is_canonical_uuid, baby.dataset_ids))
    return _found(key, info, baby, stamps, baby.num_records)


def _found(
    key: BabyKey,
    info: ObjectInfo,
    baby: Baby,
    dataset_ids: frozenset[str] | None,
    num_records: int,
) -> BabyFound:
    start_time, end_time = baby.time_range()
    return BabyFound(
        key.stream_id,
        key.offset,
        dataset_ids,
        num_records,
        start_time,
        end_time,
        info.size_bytes,
        baby.flush_id,
        baby.is_stop and dataset_ids is not None,
        info.modified_at_nanos,
    )
