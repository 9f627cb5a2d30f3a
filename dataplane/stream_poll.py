"""Polls of meta's streams, page by page."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from meta.client import MetaClient
from meta.v1 import nursery_pb2 as pb


@dataclass(frozen=True, slots=True)
class Shards:
    """Indexes of shards of the streams, out of `count`."""

    indexes: tuple[int, ...]
    count: int


ALL_STREAMS = Shards((0,), 1)


def read_pages(
    client: MetaClient, request: pb.GetIngestStreamsRequest
) -> Iterator[pb.GetIngestStreamsResponse]:
    """Yield the pages of one poll, all labelled with the first one's response_seq."""
    asked = pb.GetIngestStreamsRequest()
    asked.CopyFrom(request)
    asked.paged = True
    while True:
        reply = client.nursery.GetIngestStreamsForNursery(asked)
        yield reply
        if not reply.next_page_cursor:
            return
        asked.page_cursor = reply.next_page_cursor


def read_streams(client: MetaClient) -> list[pb.IngestStreamInfo]:
    """Read every stream."""
    pages = read_pages(client, pb.GetIngestStreamsRequest())
    return [stream for page in pages for stream in page.streams]


def read_unmerged(
    client: MetaClient,
    since_seq: int,
    waiting: Collection[str] = (),
    shards: Shards = ALL_STREAMS,
) -> pb.GetIngestStreamsResponse:
    """Return all pages of a poll as one reply. Raises MetaError.

    It has entries with something to merge and their datasets, so it costs what there is to merge,
    not what exists.
    """
    # A single shard in the form of the published contract.
    is_single = len(shards.indexes) == 1
    request = pb.GetIngestStreamsRequest(
        since_seq=since_seq,
        shard_index=shards.indexes[0] if is_single else 0,
        shard_indexes=() if is_single else shards.indexes,
        shard_count=shards.count,
        waiting_dataset_ids=waiting,
        omit_merged_entries=True,
        leaves_kept_ranges=True,
    )
    pages = read_pages(client, request)
    reply = next(pages)
    for page in pages:
        reply.MergeFrom(page)
    return reply
