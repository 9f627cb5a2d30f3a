"""Invariants as pure checks over meta's catalog and the bucket's listing (docs/invariants.md).

`segplane fsck` and the tests share them. I1 to I3 need a log of sent records; the end-to-end tests
and the demo keep one and check these.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from segments.keys import baby_key, merged_prefix
from segments.parquet.footer import StoredFooter
from segments.store.interface import ObjectInfo


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated invariant, by its number in docs/invariants.md."""

    invariant: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class EntryState:
    """Offsets of one dataset in one stream; -1 = none yet."""

    dataset_id: str
    merged_offset: int
    deleted_offset: int


@dataclass(frozen=True, slots=True)
class StreamState:
    """Offsets of one ingest stream as meta reports them; -1 = none yet."""

    stream_id: str
    committed_offset: int
    deleted_offset: int
    stopped_offset: int | None
    entries: tuple[EntryState, ...]

    @property
    def merged_offset(self) -> int:
        """The last offset that every dataset has merged."""
        return min((e.merged_offset for e in self.entries), default=self.committed_offset)


@dataclass(frozen=True, slots=True)
class SegmentState:
    """One live segment as meta reports it; `object_key` is the full key, times in nanoseconds."""

    segment_id: str
    dataset_id: str
    object_key: str
    size_bytes: int
    rows: int
    start_time: int
    end_time: int


@dataclass(frozen=True, slots=True)
class SegmentTotals:
    """Statistics over the live segments of all datasets."""

    segments: int
    size_bytes: int


def offset_order(streams: Iterable[StreamState]) -> Iterator[Violation]:
    """I8: deleted <= min merged <= max merged <= committed; nothing beyond a stop."""
    for stream in streams:
        highest = max((e.merged_offset for e in stream.entries), default=stream.merged_offset)
        order = (-1, stream.deleted_offset, stream.merged_offset, highest, stream.committed_offset)
        if list(order) != sorted(order):
            text = "deleted {1}, merged {2} to {3}, committed {4} are out of order".format(*order)
            yield Violation("I8", stream.stream_id, text)
        if stream.stopped_offset is not None and stream.committed_offset > stream.stopped_offset:
            text = f"committed {stream.committed_offset} is beyond the stop {stream.stopped_offset}"
            yield Violation("I8", stream.stream_id, text)


def offsets_never_fall(
    before: Iterable[StreamState], after: Iterable[StreamState]
) -> Iterator[Violation]:
    """I7 between two readings: no offset of a stream or an entry moved back."""
    now = {stream.stream_id: stream for stream in after}
    for old in before:
        new = now.get(old.stream_id)
        if new is None:
            continue
        merged = {entry.dataset_id: entry.merged_offset for entry in new.entries}
        pairs = [
            ("committed", old.committed_offset, new.committed_offset),
            ("deleted", old.deleted_offset, new.deleted_offset),
            *(
                ("merged", entry.merged_offset, merged.get(entry.dataset_id, entry.merged_offset))
                for entry in old.entries
            ),
        ]
        for name, before_value, after_value in pairs:
            if after_value < before_value:
                text = f"{name} offset fell from {before_value} to {after_value}"
                yield Violation("I7", old.stream_id, text)


def live_objects(
    segments: Iterable[SegmentState], objects: Mapping[str, ObjectInfo]
) -> Iterator[Violation]:
    """I9: every live segment has its object, of the registered size, under its dataset's prefix."""
    for segment in segments:
        info = objects.get(segment.object_key)
        if info is None:
            yield Violation("I9", segment.segment_id, f"object {segment.object_key} is missing")
        elif info.size_bytes != segment.size_bytes:
            text = f"object has {info.size_bytes} bytes, registered are {segment.size_bytes}"
            yield Violation("I9", segment.segment_id, text)
        if not segment.object_key.startswith(merged_prefix(segment.dataset_id)):
            text = f"object {segment.object_key} is not under its dataset's prefix"
            yield Violation("I9", segment.segment_id, text)


def baby_objects(
    streams: Iterable[StreamState], objects: Mapping[str, ObjectInfo]
) -> Iterator[Violation]:
    """I9: every committed baby that is not merged everywhere has its object."""
    for stream in streams:
        for offset in range(stream.merged_offset + 1, stream.committed_offset + 1):
            key = baby_key(stream.stream_id, offset)
            if key not in objects:
                yield Violation("I9", stream.stream_id, f"baby {key} is missing")


def one_segment_an_object(segments: Iterable[SegmentState]) -> Iterator[Violation]:
    """I6: no two live segments share an object."""
    owners: dict[str, str] = {}
    for segment in segments:
        owner = owners.setdefault(segment.object_key, segment.segment_id)
        if owner != segment.segment_id:
            text = f"object {segment.object_key} also belongs to segment {owner}"
            yield Violation("I6", segment.segment_id, text)


def footer_matches(segment: SegmentState, stored: StoredFooter) -> Iterator[Violation]:
    """I6: rows, times and dataset are what was registered."""
    pairs = (
        ("dataset", stored.footer.dataset_id, segment.dataset_id),
        ("rows", stored.rows, segment.rows),
        ("start time", stored.start_time, segment.start_time),
        ("end time", stored.end_time, segment.end_time),
    )
    for name, in_file, registered in pairs:
        if in_file != registered:
            text = f"{name} in the file is {in_file}, registered is {registered}"
            yield Violation("I6", segment.segment_id, text)


def merged_once(
    footers: Sequence[tuple[SegmentState, StoredFooter]],
) -> Iterator[Violation]:
    """I2, from lineage: each part of a nursery batch is in one live segment of its dataset."""
    holders: dict[tuple[str, str, int], str] = {}
    for segment, stored in footers:
        for batch in stored.footer.batches:
            part = (segment.dataset_id, batch.batch_id, batch.part)
            holder = holders.setdefault(part, segment.segment_id)
            if holder != segment.segment_id:
                text = f"part {batch.part} of batch {batch.batch_id} is also in segment {holder}"
                yield Violation("I2", segment.segment_id, text)


def stats_true(segments: Sequence[SegmentState], totals: SegmentTotals) -> Iterator[Violation]:
    """I20: the maintained statistics equal a recount."""
    counted = SegmentTotals(len(segments), sum(segment.size_bytes for segment in segments))
    if counted != totals:
        text = (
            f"stats say {totals.segments} segments with {totals.size_bytes} bytes, "
            f"a recount {counted.segments} with {counted.size_bytes}"
        )
        yield Violation("I20", "janitor stats", text)
