"""Content of listed objects: a merged segment's footer, a baby's stamps."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from segments.baby import Baby, decode_baby
from segments.errors import CorruptObject, ObjectMissing
from segments.ids import is_canonical_uuid
from segments.inventory.listing import batches, list_babies
from segments.inventory.streams import BabyFound
from segments.keys import BabyKey, parse_key
from segments.parquet.content import read_content
from segments.parquet.footer import SegmentContent, SegmentFooter
from segments.parquet.spec import SegmentSpec
from segments.store.interface import ObjectInfo, ObjectStore

THREADS = 8
READS_AHEAD = 256

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SegmentFound:
    """A merged segment in the bucket, with its footer; times in nanoseconds."""

    key: str
    footer: SegmentFooter
    rows: int
    start_time: int
    end_time: int
    size_bytes: int
    compressed_size_bytes: int
    modified_at_nanos: int
    spec: SegmentSpec
    content: SegmentContent | None = None
    # Only its footer was read.
    crc32c: int | None = None


def read_each(read: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Read objects concurrently, READS_AHEAD at a time; the results are in the order of items."""
    with ThreadPoolExecutor(THREADS) as pool:
        for batch in batches(items, READS_AHEAD):
            yield from pool.map(read, batch)


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
        read.proven,
    )


def read_babies(
    store: ObjectStore, stream_id: str, first: int = 0, last: int | None = None
) -> Iterator[tuple[BabyFound, Baby | None]]:
    """Read the babies of a stream between two offsets, in order; None is a damaged one's content.

    One that is deleted meanwhile is skipped.
    """

    def read(info: ObjectInfo) -> tuple[BabyFound, Baby | None] | None:
        try:
            baby = decoded(store, info.key)
        except ObjectMissing:
            return None
        return baby_found(info, baby), baby

    return filter(None, read_each(read, list_babies(store, stream_id, first, last)))


def decoded(store: ObjectStore, key: str) -> Baby | None:
    """Read a baby; None if it is damaged. Raises ObjectMissing."""
    try:
        return decode_baby(store.get(key))
    except CorruptObject:
        return None


def baby_found(info: ObjectInfo, baby: Baby | None) -> BabyFound:
    """Facts of a baby as a catalog has them; None stands for a damaged one.

    A damaged one is committed as any other: the nursery reads it again and puts it aside whole.
    """
    key = parse_key(info.key)
    assert isinstance(key, BabyKey)
    content = Baby(is_stamped=False) if baby is None else baby
    dataset_ids, num_records = None, 1
    # Nothing counts the records of the others; 0 would have them taken for empty.
    if content.is_stamped or (baby is not None and not baby.parts):
        # A stamp is whatever a collector wrote; only meta's own ids can have been a dataset's.
        dataset_ids = frozenset(filter(is_canonical_uuid, content.dataset_ids))
        num_records = content.num_records
    start_time, end_time = content.time_range()
    return BabyFound(
        key.stream_id,
        key.offset,
        dataset_ids,
        num_records,
        start_time,
        end_time,
        info.size_bytes,
        content.flush_id,
        content.is_stop and dataset_ids is not None,
        info.modified_at_nanos,
    )
