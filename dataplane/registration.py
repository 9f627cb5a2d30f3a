"""The CreateSegment message of a segment whose object is complete."""

from typing import Protocol

from meta.v1 import common_pb2
from segments.facts import written
from segments.keys import split_key
from segments.parquet.footer import RegisteredFacts, SegmentContent
from segments.signals import TRAITS

# The number of events is an int32 in the contract, far above what one file holds.
_EVENTS_MAX = 2**31 - 1


class SegmentFigures(Protocol):
    """Facts of a segment that meta stores. Times are nanoseconds, both ends inclusive."""

    @property
    def rows(self) -> int:
        """Records in it."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes before compression."""
        ...

    @property
    def compressed_size_bytes(self) -> int:
        """Bytes of the object."""
        ...

    @property
    def crc32c(self) -> int | None:
        """CRC-32C of the object; None if nobody has read it whole."""
        ...

    @property
    def start_time(self) -> int:
        """Earliest event time."""
        ...

    @property
    def end_time(self) -> int:
        """Latest event time."""
        ...

    @property
    def content(self) -> SegmentContent | None:
        """Signals and promoted columns; None or without signals if they are not known."""
        ...


def create_segment(
    dataset_id: str, bucket: common_pb2.CloudBucket, object_key: str, figures: SegmentFigures
) -> common_pb2.CreateSegment:
    """Describe a dataset's segment to meta."""
    assert figures.rows <= _EVENTS_MAX
    prefix, name = split_key(object_key)
    content = figures.content
    return common_pb2.CreateSegment(
        dataset_id=dataset_id,
        time_range=common_pb2.TimeRange(start_time=figures.start_time, end_time=figures.end_time),
        size_bytes=figures.size_bytes,
        compressed_size_bytes=figures.compressed_size_bytes,
        number_of_events=figures.rows,
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(bucket=bucket, prefix=prefix), key=name
        ),
        facts=segment_facts(content) if content and content.sections else None,
        crc32c=figures.crc32c,
        written_facts=written.message_of(content.written) if content else None,
    )


def registered_facts(segment: common_pb2.SegmentInfo) -> RegisteredFacts:
    """The facts of a segment that its footer has to repeat."""
    times = segment.time_range
    return RegisteredFacts(
        segment.dataset_id, segment.number_of_events, times.start_time, times.end_time
    )


def segment_facts(content: SegmentContent) -> common_pb2.SegmentFacts:
    """Describe a segment's content to meta."""
    by_kind = sorted(content.sections.items(), key=lambda item: TRAITS[item[0]].kind)
    return common_pb2.SegmentFacts(
        format_version=content.format_version,
        signals=[
            common_pb2.SignalFacts(
                signal=common_pb2.Signal.ValueType(TRAITS[signal].kind),
                number_of_events=section.rows,
                time_range=common_pb2.TimeRange(
                    start_time=section.start_time, end_time=section.end_time
                ),
            )
            for signal, section in by_kind
        ],
        promoted_field_ids=content.promoted_field_ids,
    )
