"""Polls of meta's streams, page by page, with what is known of the catalog already."""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from meta.client import MetaClient
from meta.errors import VersionExpired
from meta.v1 import common_pb2
from meta.v1 import nursery_pb2 as pb
from segments.parquet.schema import SegmentSpec
from segments.signals import TRAITS
from segplane.dataplane.dataset_layout import read_layouts

# How long changes of the catalog are added to one that was read as a whole.
CATALOG_SECS = 300.0


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


class KnownCatalog:
    """Layouts of the datasets and the routing of tokens; a poll adds what changed."""

    def __init__(self) -> None:
        self.datasets: dict[str, common_pb2.DatasetInfo] = {}
        self.specs: dict[str, SegmentSpec] = {}
        # Why the other datasets have to wait.
        self.waiting: dict[str, str] = {}
        self.tokens: dict[str, pb.IngestTokenRoutingInfo] = {}
        self._routed: frozenset[str] | None = None

    def add(self, reply: pb.GetIngestStreamsResponse) -> None:
        """Add datasets and tokens of a reply."""
        layouts = read_layouts(reply.datasets)
        for dataset in reply.datasets:
            self.datasets[dataset.id] = dataset
            self.specs.pop(dataset.id, None)
            self.waiting.pop(dataset.id, None)
        self.specs.update(layouts.specs)
        self.waiting.update(layouts.waiting)
        if reply.token_routing:
            self.tokens.update({token.token_id: token for token in reply.token_routing})
            self._routed = None

    def routed_dataset_ids(self) -> frozenset[str]:
        """The datasets that some token routes to."""
        if self._routed is None:
            routed = {
                dataset_id
                for token in self.tokens.values()
                for dataset_id in (*(getattr(token, t.routing_field) for t in TRAITS.values()),)
            }
            self._routed = frozenset(routed - {""})
        return self._routed


class StreamPoll:
    """One caller's polls; keeps datasets and routing between them."""

    def __init__(
        self,
        client: MetaClient,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._monotonic = monotonic
        self._catalog = KnownCatalog()
        # The poll that the catalog is as of; 0 = none, so all of it is read.
        self._catalog_seq = 0
        self._whole_at = float("-inf")

    def read(
        self, since_seq: int, waiting: Collection[str] = (), shards: Shards = ALL_STREAMS
    ) -> pb.GetIngestStreamsResponse:
        """Return all pages of a poll as one reply, with the whole catalog. Raises MetaError."""
        reply, catalog = self._poll(since_seq, waiting, shards, omits_merged=False)
        reply.datasets.extend(catalog.datasets.values())
        reply.token_routing.extend(catalog.tokens.values())
        return reply

    def read_unmerged(
        self, since_seq: int, waiting: Collection[str] = (), shards: Shards = ALL_STREAMS
    ) -> tuple[pb.GetIngestStreamsResponse, KnownCatalog]:
        """Return all pages of a poll, without entries that have nothing to merge, and the catalog.

        What it costs grows with what changed, not with the datasets and entries that exist.
        """
        return self._poll(since_seq, waiting, shards, omits_merged=True)

    def _poll(
        self, since_seq: int, waiting: Collection[str], shards: Shards, *, omits_merged: bool
    ) -> tuple[pb.GetIngestStreamsResponse, KnownCatalog]:
        if self._monotonic() - self._whole_at >= CATALOG_SECS:
            self._catalog_seq = 0
        started = self._monotonic()
        is_whole = not self._catalog_seq
        try:
            reply = self._read(since_seq, waiting, shards, omits_merged=omits_merged)
        except VersionExpired:
            self._catalog_seq = 0
            raise
        if is_whole:
            self._catalog = KnownCatalog()
            self._whole_at = started
        self._catalog.add(reply)
        self._catalog_seq = reply.response_seq
        del reply.datasets[:], reply.token_routing[:]
        return reply, self._catalog

    def _read(
        self, since_seq: int, waiting: Collection[str], shards: Shards, *, omits_merged: bool
    ) -> pb.GetIngestStreamsResponse:
        # A single shard in the form of the published contract.
        is_single = len(shards.indexes) == 1
        request = pb.GetIngestStreamsRequest(
            since_seq=since_seq,
            shard_index=shards.indexes[0] if is_single else 0,
            shard_indexes=() if is_single else shards.indexes,
            shard_count=shards.count,
            catalog_since_seq=self._catalog_seq,
            waiting_dataset_ids=waiting,
            omit_merged_entries=omits_merged,
        )
        pages = read_pages(self._client, request)
        reply = next(pages)
        for page in pages:
            reply.MergeFrom(page)
        return reply
