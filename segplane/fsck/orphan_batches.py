"""Registers nursery batches that were written but never registered, if a baby of theirs is missing.

Only what lineage proves: all files of a batch are there, and its offsets begin right behind each
stream's merged offset. meta compares once more, so that nothing can be merged twice.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dataplane.location import ask_location
from dataplane.registration import create_segment
from dataplane.stream_poll import read_streams
from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1 import common_pb2, nursery_pb2, operations_pb2
from segments.errors import CorruptObject, ObjectMissing
from segments.inventory.contents import SegmentFound, find_segment
from segments.keys import MergedKey, parse_key
from segments.offsets import OffsetSpan, coalesce
from segments.store.interface import ObjectStore


@dataclass(frozen=True, slots=True)
class _Batch:
    """The files of one nursery batch of a dataset, and the span of each stream in it."""

    dataset_id: str
    files: tuple[SegmentFound, ...]
    spans: tuple[OffsetSpan, ...]


def register_batches(
    client: MetaClient, store: ObjectStore, orphans: Sequence[str], missing: Mapping[str, int]
) -> Iterator[tuple[list[str], str]]:
    """Register the complete batches that hold missing babies, given by stream and first offset.

    Yields the keys of each and a line that says so.
    """
    merged_offsets = {
        (stream.stream_id, entry.dataset_id): entry.merged_offset
        for stream in read_streams(client)
        for entry in stream.datasets
    }
    bucket_of = ask_location(client, "fsck").bucket_of
    for batch in _complete(_read(store, orphans)):
        is_next = all(
            merged_offsets.get((span.stream_id, batch.dataset_id)) == span.start - 1
            for span in batch.spans
        )
        holds_missing = any(
            span.start <= missing.get(span.stream_id, -1) <= span.end for span in batch.spans
        )
        if not (is_next and holds_missing):
            continue
        keys = [file.key for file in batch.files]
        try:
            client.nursery.RegisterMergedSegment(_request(client, bucket_of, batch))
        except MetaError as error:
            yield [], f"left: {keys[0]}: {error.message}"
            continue
        streams = ", ".join(f"{s.stream_id} {s.start} to {s.end}" for s in batch.spans)
        yield keys, f"registered: {' '.join(keys)}: holds the babies of {streams}"


def _read(store: ObjectStore, keys: Sequence[str]) -> Iterator[SegmentFound]:
    for key in keys:
        if isinstance(parse_key(key), MergedKey):
            try:
                yield find_segment(store, store.head(key))
            except (CorruptObject, ObjectMissing):
                continue


def _complete(segments: Iterator[SegmentFound]) -> Iterator[_Batch]:
    files: dict[tuple[str, str], dict[int, SegmentFound]] = defaultdict(dict)
    parts: dict[tuple[str, str], int] = {}
    for file in segments:
        if len(file.footer.batches) != 1:
            continue
        (part,) = file.footer.batches
        if not part.is_whole:
            continue
        name = (file.footer.dataset_id, part.batch_id)
        files[name][part.part] = file
        parts[name] = max(parts.get(name, 0), part.parts)
    for (dataset_id, batch_id), by_part in files.items():
        if sorted(by_part) != list(range(1, parts[dataset_id, batch_id] + 1)):
            continue
        spans = coalesce([span for file in by_part.values() for span in file.footer.ranges])
        if len({span.stream_id for span in spans}) == len(spans):
            yield _Batch(dataset_id, tuple(by_part.values()), tuple(spans))


def _request(
    client: MetaClient, bucket_of: Callable[[str], common_pb2.CloudBucket], batch: _Batch
) -> nursery_pb2.RegisterMergedSegmentRequest:
    segments = [
        create_segment(batch.dataset_id, bucket_of(file.key), file.key, file)
        for file in batch.files
    ]
    return nursery_pb2.RegisterMergedSegmentRequest(
        segment=segments[0],
        more_segments=segments[1:],
        stream_offsets=[
            nursery_pb2.StreamOffsetInfo(
                stream_id=span.stream_id,
                dataset_id=batch.dataset_id,
                start_merged_offset=span.start - 1,
                new_merged_offset=span.end,
                ingest_time_nanos=_committed_at(client, span) // 10**9 * 10**9,
            )
            for span in batch.spans
        ],
    )


def _committed_at(client: MetaClient, span: OffsetSpan) -> int:
    request = operations_pb2.LocateOffsetRequest(stream_id=span.stream_id, offset=span.end)
    return client.operations.LocateOffset(request).baby.committed_at_nanos
