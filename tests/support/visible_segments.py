"""Segments and records that readers of a catalog see."""

from meta.client import MetaClient
from meta.v1 import (
    common_pb2,
    segment_lookup_pb2,
)
from segments.keys import join_key
from segments.parquet.reader import read_segment
from segments.store.interface import ObjectStore

Seen = tuple[str, str, int, int, int, int, int, bytes]


def find(client: MetaClient) -> list[common_pb2.SegmentInfo]:
    request = segment_lookup_pb2.FindSegmentsRequest()
    return list(client.segment_lookup.FindSegments(request).segments)


def with_all_facts(client: MetaClient) -> list[common_pb2.SegmentInfo]:
    """The segments with the field ids of their columns, which a page of a lookup omits."""
    ids = [segment.id for segment in find(client)]
    request = segment_lookup_pb2.GetSegmentsByIdsRequest(segment_ids=ids)
    return list(client.segment_lookup.GetSegmentsByIds(request).segments)


def key_of(segment: common_pb2.SegmentInfo) -> str:
    return join_key(segment.cloud_object_key.prefix.prefix, segment.cloud_object_key.key)


def seen(client: MetaClient) -> list[Seen]:
    """All that readers go by, without what each catalog makes for itself: ids and versions."""
    return sorted(
        (
            key_of(one),
            one.dataset_id,
            one.time_range.start_time,
            one.time_range.end_time,
            one.number_of_events,
            one.size_bytes,
            one.compressed_size_bytes,
            one.facts.SerializeToString(deterministic=True),
        )
        for one in with_all_facts(client)
    )


def texts(client: MetaClient, store: ObjectStore) -> list[str]:
    return sorted(
        str(body)
        for one in find(client)
        for body in read_segment(store, key_of(one))["logs"]["body"].to_pylist()
    )
