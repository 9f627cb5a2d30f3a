"""Puts a finished segment into the object store and proves that it got there whole."""

from dataclasses import dataclass
from pathlib import Path

from segments.checksums import Checksum, checksum_of
from segments.errors import CorruptObject, ObjectExists
from segments.parquet.footer import SegmentFacts, StoredFooter
from segments.parquet.reader import SegmentFile, check_segment
from segments.parquet.small_writer import SmallSegment
from segments.store.interface import ObjectStore


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """A segment that is uploaded and verified."""

    key: str
    facts: SegmentFacts


def upload_segment(store: ObjectStore, key: str, path: Path, facts: SegmentFacts) -> None:
    """Put a segment's file under a fresh key, read it back and compare; only then report it.

    A key that holds these very bytes already is success: an earlier put's answer was lost.
    Raises ObjectExists for other bytes, CorruptObject if the store gives back something else.
    """
    try:
        store.put_file_if_absent(key, path)
    except ObjectExists:
        if _checksum(store, key) != _expected(facts):
            raise
    verify_segment(store, key, facts)


def upload_small_segment(store: ObjectStore, key: str, small: SmallSegment) -> None:
    """Do the same with a segment that is in memory."""
    try:
        store.put_if_absent(key, small.body)
    except ObjectExists:
        if store.get(key) != small.body:
            raise
    stored = store.get(key)
    if stored != small.body:
        raise CorruptObject(f"{key} has {len(stored)} bytes, not the {len(small.body)} written")
    _compare(key, check_segment(stored), small.facts)


def verify_segment(store: ObjectStore, key: str, facts: SegmentFacts) -> None:
    """Compare a stored segment with its writer's counts; raises CorruptObject."""
    actual = _checksum(store, key)
    if actual != _expected(facts):
        raise CorruptObject(f"{key} has {actual}, written were {_expected(facts)}")
    with SegmentFile(store.open_input(key)) as segment:
        stored = segment.stored
    _compare(key, stored, facts)


def _compare(key: str, stored: StoredFooter, facts: SegmentFacts) -> None:
    says = (stored.rows_by_signal, stored.start_time, stored.end_time)
    counted = (facts.rows_by_signal, facts.start_time, facts.end_time)
    if says != counted:
        raise CorruptObject(f"the footer of {key} says {says}, its writer counted {counted}")


def _expected(facts: SegmentFacts) -> Checksum:
    return Checksum(facts.crc32c, facts.compressed_size_bytes)


def _checksum(store: ObjectStore, key: str) -> Checksum:
    """Read an object as the store gives it back, without holding it whole: CRC32C and bytes."""
    with store.open_input(key) as source:
        return checksum_of(source)
