"""A driver of the nursery's calls, which merges without writing segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from meta.client import MetaClient
from meta.v1 import common_pb2, nursery_pb2


@dataclass(frozen=True)
class NurseryDriver:
    """One nursery, which says of its segments what is true of any."""

    client: MetaClient

    def poll(
        self, since_seq: int = 0, shard_index: int = 0, shard_count: int = 0
    ) -> nursery_pb2.GetIngestStreamsResponse:
        return self.client.nursery.GetIngestStreamsForNursery(
            nursery_pb2.GetIngestStreamsRequest(
                since_seq=since_seq, shard_index=shard_index, shard_count=shard_count
            )
        )

    def stream(self, stream_id: str) -> nursery_pb2.IngestStreamInfo:
        """Read one stream; it must be there."""
        return next(s for s in self.poll().streams if s.stream_id == stream_id)

    def merged_offset(self, stream_id: str, dataset_id: str) -> int:
        entries = self.stream(stream_id).datasets
        return next(e.merged_offset for e in entries if e.dataset_id == dataset_id)

    def segment(self, dataset_id: str, key: str = "") -> common_pb2.CreateSegment:
        """Describe a segment under a fresh key."""
        prefix = common_pb2.CloudObjectPrefix(prefix=f"dataset/{dataset_id}/merged")
        return common_pb2.CreateSegment(
            dataset_id=dataset_id,
            time_range=common_pb2.TimeRange(start_time=1_000, end_time=2_000),
            size_bytes=5_000,
            compressed_size_bytes=1_000,
            number_of_events=10,
            cloud_object_key=common_pb2.CloudObjectKey(
                prefix=prefix, key=key or f"{uuid4()}.parquet"
            ),
        )

    def register(
        self,
        dataset_id: str,
        *spans: tuple[str, int, int],
        segment: common_pb2.CreateSegment | None = None,
        more: Sequence[common_pb2.CreateSegment] = (),
    ) -> nursery_pb2.RegisterMergedSegmentResponse:
        """Register spans (stream, seen, merged) of a dataset; without a segment, offsets only."""
        request = self.request(dataset_id, *spans, segment=segment, more=more)
        return self.client.nursery.RegisterMergedSegment(request)

    def request(
        self,
        dataset_id: str,
        *spans: tuple[str, int, int],
        segment: common_pb2.CreateSegment | None = None,
        more: Sequence[common_pb2.CreateSegment] = (),
    ) -> nursery_pb2.RegisterMergedSegmentRequest:
        """Build a registration of spans (stream, seen, merged) of a dataset."""
        return nursery_pb2.RegisterMergedSegmentRequest(
            segment=segment,
            more_segments=more,
            stream_offsets=[
                nursery_pb2.StreamOffsetInfo(
                    stream_id=stream_id,
                    dataset_id=dataset_id,
                    start_merged_offset=seen,
                    new_merged_offset=merged,
                    ingest_time_nanos=7_000_000_000,
                )
                for stream_id, seen, merged in spans
            ],
        )

    def merge(self, dataset_id: str, stream_id: str, seen: int, merged: int) -> int:
        """Register a fresh segment over one span; answers its version."""
        segment = self.segment(dataset_id)
        return self.register(dataset_id, (stream_id, seen, merged), segment=segment).segment_version

    def stop(self, stream_id: str, final_offset: int) -> None:
        self.client.nursery.MarkStreamStopped(
            nursery_pb2.MarkStreamStoppedRequest(
                stream_id=stream_id,
                final_offset=final_offset,
                reason=nursery_pb2.STOP_REASON_CLIENT,
            )
        )

    def reap(self, stream_id: str, offset: int) -> None:
        self.client.nursery.UpdateDeletedOffset(
            nursery_pb2.UpdateDeletedOffsetRequest(
                stream_id=stream_id,
                deleted_offset=offset,
                deleted_ingest_time_nanos=8_000_000_000,
            )
        )

    def remove_entry(self, stream_id: str, dataset_id: str, merged_offset: int) -> None:
        self.client.nursery.DeleteIngestStreamDataset(
            nursery_pb2.DeleteIngestStreamDatasetRequest(
                stream_id=stream_id,
                dataset_id=dataset_id,
                current_offset=merged_offset,
                merged_offset=merged_offset,
            )
        )
