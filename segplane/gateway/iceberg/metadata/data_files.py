"""Segments as data files of a table, as its manifests describe them."""

from dataclasses import dataclass
from typing import NamedTuple

import structlog

from dataplane.registration import registered_facts, segment_facts
from meta.v1 import common_pb2
from segments.errors import CorruptObject, ObjectMissing
from segments.foreign.opening import claims_to_be_segment, reason_of
from segments.location import Stores
from segments.parquet.columns.stored_columns import FORMAT_MICROSECONDS
from segments.parquet.content import read_content
from segments.parquet.footer import differences
from segments.signals import SIGNALS, TRAITS
from segments.store.interface import ObjectStore
from segplane.read.lookup import object_key

# Signals by the numbers of the contract's enum, in the order in which a file sorts them: by name.
_SIGNAL_NAMES = {TRAITS[signal].kind: signal for signal in SIGNALS}
_DAY_NANOS = 86_400 * 10**9
# Unread ones are classified before, by `told_apart`.
_FOREIGN = (common_pb2.FOREIGN_STATE_MAPPED, common_pb2.FOREIGN_STATE_UNREADABLE)
log = structlog.get_logger()


class DataFile(NamedTuple):
    """A segment; times in nanoseconds, both inclusive. A tuple, because a table has many."""

    # The day, by which a manifest's files are adjacent.
    day: int
    created_version: int
    id: str
    path: str
    start_ns: int
    end_ns: int
    size_bytes: int
    number_of_events: int
    # The first and last in the order of names.
    lowest_signal: str
    highest_signal: str

    @property
    def is_of_one_day(self) -> bool:
        """False for stray times of several UTC days, which no partition can hold."""
        return self.day == self.end_ns // _DAY_NANOS


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A segment that engines cannot read; format None = nobody has read its footer yet.

    One that `is_left_out` is of a client, without field ids or no Parquet at all: tables continue
    without it. The others hold acknowledged records, and refuse the table.
    """

    id: str
    format_version: int | None
    key: str = ""
    version: int = 0
    reason: str = ""
    is_left_out: bool = False

    def __str__(self) -> str:
        return (
            f"segment {self.id} is skipped: its object {self.key}, which a client registered at"
            f" version {self.version}, cannot be read by Iceberg readers: {self.reason}"
        )


def data_file(segment: common_pb2.SegmentInfo, stores: Stores) -> DataFile | UnreadableFile:
    """Describe a segment. Raises StoreUnknown."""
    facts = segment.facts
    if segment.foreign.state in _FOREIGN and not facts.format_version:
        return _left_out(segment)
    if not segment.HasField("facts") or not facts.signals:
        return UnreadableFile(segment.id, None)
    names = sorted(
        _SIGNAL_NAMES[item.signal] for item in facts.signals if item.signal in _SIGNAL_NAMES
    )
    if facts.format_version != FORMAT_MICROSECONDS or len(names) != len(facts.signals):
        return UnreadableFile(segment.id, facts.format_version)
    key = object_key(segment)
    return DataFile(
        day=segment.time_range.start_time // _DAY_NANOS,
        created_version=segment.created_version,
        id=segment.id,
        path=f"{stores.of_key(key).root}/{key}",
        start_ns=segment.time_range.start_time,
        end_ns=segment.time_range.end_time,
        size_bytes=segment.compressed_size_bytes,
        number_of_events=segment.number_of_events,
        lowest_signal=names[0],
        highest_signal=names[-1],
    )


def _left_out(segment: common_pb2.SegmentInfo) -> UnreadableFile:
    """Describe an object that a client registered without facts."""
    key = object_key(segment)
    reason = segment.foreign.reason
    if segment.foreign.state == common_pb2.FOREIGN_STATE_MAPPED:
        reason = (
            "it is not a segment yet: a merge worker makes one of it, about a minute after it came"
        )
    format_version = segment.facts.format_version if segment.HasField("facts") else None
    version = segment.created_version
    return UnreadableFile(segment.id, format_version, key, version, reason, is_left_out=True)


def told_apart(segment: common_pb2.SegmentInfo, store: ObjectStore) -> common_pb2.SegmentInfo:
    """Return a segment with the facts of its footer, or as what readers skip.

    One that claims to be a segment and is damaged is neither: its table is refused. Raises
    StoreError.
    """
    if segment.foreign.state != common_pb2.FOREIGN_STATE_UNREAD or segment.facts.format_version:
        return segment
    empty = common_pb2.SegmentInfo()
    empty.CopyFrom(segment)
    key = object_key(segment)
    try:
        if claims_to_be_segment(lambda: store.open_input(key)):
            empty.ClearField("foreign")
            _take_facts(empty, key, store)
        else:
            empty.foreign.state = common_pb2.FOREIGN_STATE_MAPPED
    except (CorruptObject, ObjectMissing) as error:
        empty.foreign.state = common_pb2.FOREIGN_STATE_UNREADABLE
        empty.foreign.reason = reason_of(error)
    return empty


def _take_facts(segment: common_pb2.SegmentInfo, key: str, store: ObjectStore) -> None:
    """Add the facts of a footer that agrees with the registration."""
    try:
        read = read_content(store, key)
    except CorruptObject as error:
        log.error("segment_damaged", segment_id=segment.id, object_key=key, error=str(error))
        return
    is_registered = not any(differences(read.stored, registered_facts(segment)))
    if is_registered and read.content is not None and read.content.sections:
        segment.facts.CopyFrom(segment_facts(read.content))
