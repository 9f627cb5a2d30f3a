"""Reads what a catalog is rebuilt from: every merged segment's footer, every baby's stamps."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from segments.baby import Baby, decode_baby
from segments.errors import CorruptObject, ObjectMissing
from segments.ids import is_canonical_uuid
from segments.keys import BABIES_ROOT, DATASETS_ROOT, AttemptKey, BabyKey, MergedKey, parse_key
from segments.parquet.footer import content_of, decode_footer
from segments.parquet.schema import SegmentSpec
from segments.rebuild.batches import Dropped
from segments.rebuild.plan import BabyFound, SegmentFound
from segments.store.interface import ObjectInfo, ObjectStore

THREADS = 8
_AHEAD = 256

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Inventory:
    """The objects of a bucket; `unread` are those under our prefixes that cannot be used."""

    segments: tuple[SegmentFound, ...]
    babies: tuple[BabyFound, ...]
    unread: tuple[Dropped, ...]


def read_inventory(store: ObjectStore) -> Inventory:
    """Read the whole bucket; the system must stand still meanwhile."""
    unread: list[Dropped] = []
    merged: list[ObjectInfo] = []
    for info in store.list(DATASETS_ROOT):
        if isinstance(parse_key(info.key), MergedKey | AttemptKey):
            merged.append(info)
        else:
            unread.append(Dropped(info.key, "foreign: not a segment's key"))
    babies = [i for i in store.list(BABIES_ROOT) if isinstance(parse_key(i.key), BabyKey)]
    segments = _read(merged, lambda info: _segment(store, info), unread)
    return Inventory(
        tuple(segments),
        tuple(_read(babies, lambda info: _baby(store, info), unread)),
        tuple(unread),
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


def _segment(store: ObjectStore, info: ObjectInfo) -> SegmentFound:
    with store.open_input(info.key) as source:
        try:
            metadata = pq.read_metadata(pa.PythonFile(source, mode="r"))
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise CorruptObject(f"not a readable Parquet file: {error}") from error
    stored = decode_footer(metadata.metadata)
    groups = range(metadata.num_row_groups)
    return SegmentFound(
        info.key,
        stored.footer,
        stored.rows,
        stored.start_time,
        stored.end_time,
        sum(metadata.row_group(i).total_byte_size for i in groups),
        info.size_bytes,
        info.modified_at_nanos,
        SegmentSpec(stored.sharding_fields, stored.promoted),
        content_of(stored),
    )


def _baby(store: ObjectStore, info: ObjectInfo) -> BabyFound:
    key = parse_key(info.key)
    assert isinstance(key, BabyKey)
    try:
        baby = decode_baby(store.get(info.key))
    except CorruptObject:
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
