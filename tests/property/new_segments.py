"""Segments that rules of the state machine register, and registrations of babies."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from meta.v1 import common_pb2, nursery_pb2
from segments.keys import join_key
from tests.property.model_streams import Refusal, Stream

EVENTS = 10
# Long ago, so that a few small segments of the day are worth a merge.
DAY_START = 1_000_000_000


def new_segment(dataset_id: str, name: str = "", events: int = EVENTS) -> common_pb2.CreateSegment:
    """Describe a segment under a fresh name."""
    return common_pb2.CreateSegment(
        dataset_id=dataset_id,
        time_range=common_pb2.TimeRange(start_time=DAY_START, end_time=DAY_START),
        size_bytes=500,
        compressed_size_bytes=100,
        number_of_events=events,
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(prefix=f"dataset/{dataset_id}/merged"),
            key=name or f"{uuid4()}.parquet",
        ),
    )


def full_key(segment: common_pb2.CreateSegment | common_pb2.SegmentInfo) -> str:
    """The object key that prefix and name come to."""
    name = segment.cloud_object_key
    return join_key(name.prefix.prefix, name.key)


# Of the rules by which a dataset's records are judged; 0 = none.
VERDICTS = (0, 1, 2)


def verdict_of(dataset_id: str, number: int) -> str:
    """Name a rule of a dataset; "" for none."""
    return f"{UUID(dataset_id).int & 0xFFF_FFFF_FFFF_FFFF:015x}{number}" if number else ""


@dataclass(frozen=True)
class Registration:
    """Babies of one entry, `seen` + 1 to `end`, with their segments; none = offsets only."""

    stream: Stream
    dataset_id: str
    seen: int
    end: int
    segments: tuple[common_pb2.CreateSegment, ...]
    verdict: str = ""

    @classmethod
    def of(
        cls, stream: Stream, dataset_id: str, shift: int, count: int, parts: int
    ) -> "Registration":
        # Without a segment a lower start could repeat an earlier call, which is answered like that.
        shift = shift if parts else max(0, shift)
        seen = max(-1, stream.merged_of(dataset_id) + shift)
        new = tuple(new_segment(dataset_id) for _ in range(parts))
        verdict = verdict_of(dataset_id, (count + parts) % len(VERDICTS))
        return cls(stream, dataset_id, seen, seen + count, new, verdict)

    def refusal(self) -> Refusal:
        events = sum(segment.number_of_events for segment in self.segments)
        return self.stream.refuses_merge(self.dataset_id, self.seen, self.end, events)

    def request(self) -> nursery_pb2.RegisterMergedSegmentRequest:
        return nursery_pb2.RegisterMergedSegmentRequest(
            segment=self.segments[0] if self.segments else None,
            more_segments=self.segments[1:],
            stream_offsets=[
                nursery_pb2.StreamOffsetInfo(
                    stream_id=self.stream.id,
                    dataset_id=self.dataset_id,
                    start_merged_offset=self.seen,
                    new_merged_offset=self.end,
                    ingest_time_nanos=1,
                )
            ],
            quarantined=[
                nursery_pb2.QuarantinedRecords(stream_id=self.stream.id, verdict=self.verdict)
            ]
            if self.verdict
            else (),
        )
