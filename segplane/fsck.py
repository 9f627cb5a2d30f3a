"""Compares meta's catalog with the bucket's listing.

On a running system both change during the check, so meta is read before and after the listing, and
only what holds in both readings is checked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from meta.client import MetaClient
from meta.v1 import (
    common_pb2,
    janitor_pb2,
    nursery_pb2,
    operations_pb2,
    segment_lookup_pb2,
)
from segments.errors import CorruptObject, ObjectMissing
from segments.keys import BABIES_ROOT, DATASETS_ROOT, AttemptKey, MergedKey, join_key, parse_key
from segments.parquet.footer import StoredFooter
from segments.store.interface import ObjectInfo, ObjectStore
from segments.store.open import open_store
from segplane import invariants
from segplane.dataplane import stream_poll
from segplane.dataplane.location import ask_location
from segplane.invariants import EntryState, SegmentState, SegmentTotals, StreamState, Violation
from segplane.lookup import find_all

PAGE = 10_000
KEYS_PER_CALL = 1_000
NANOS = 1_000_000_000


@dataclass(slots=True)
class Report:
    """Result of a check. Orphans are no violation: the janitor deletes them in time."""

    streams: int = 0
    segments: int = 0
    objects: int = 0
    footers: int = 0
    orphans: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)


def check(client: MetaClient, *, is_deep: bool, orphan_age_secs: float) -> Report:
    """Check everything that can be seen from outside; `is_deep` reads every segment's footer."""
    store = _open_store(client)
    before = read_streams(client)
    segments = read_segments(client)
    objects = {info.key: info for root in (DATASETS_ROOT, BABIES_ROOT) for info in store.list(root)}
    after = read_streams(client)
    still_live = _still_live(client, segments)

    report = Report(len(before), len(segments), len(objects))
    report.violations += invariants.offset_order(before)
    report.violations += invariants.offsets_never_fall(before, after)
    report.violations += invariants.one_segment_an_object(segments)
    report.violations += invariants.live_objects(still_live, objects)
    report.violations += invariants.baby_objects(_committed_before(before, after), objects)
    report.violations += _check_stats(client, segments)
    if is_deep:
        _check_footers(report, client, store, still_live)
    report.orphans = _orphans(client, store, segments, objects.values(), orphan_age_secs)
    return report


def read_streams(client: MetaClient) -> list[StreamState]:
    """Read every stream's offsets."""
    return [_stream(info) for info in stream_poll.read_streams(client)]


def read_segments(client: MetaClient) -> list[SegmentState]:
    """Read every live segment, all at one version."""
    return [
        _segment(info)
        for info in find_all(client, segment_lookup_pb2.FindSegmentsRequest(limit=PAGE))
    ]


def _open_store(client: MetaClient) -> ObjectStore:
    return open_store(ask_location(client, "fsck").store)


def _still_live(client: MetaClient, segments: Iterable[SegmentState]) -> list[SegmentState]:
    """Leave out segments that were tombstoned since; their objects may be deleted."""
    live: list[SegmentState] = []
    asked = list(segments)
    for start in range(0, len(asked), KEYS_PER_CALL):
        batch = asked[start : start + KEYS_PER_CALL]
        request = segment_lookup_pb2.GetSegmentsByIdsRequest(
            segment_ids=[segment.segment_id for segment in batch]
        )
        infos = client.segment_lookup.GetSegmentsByIds(request).segments
        live_ids = {info.id for info in infos if not info.HasField("tombstone_version")}
        live += [segment for segment in batch if segment.segment_id in live_ids]
    return live


def _committed_before(
    before: Iterable[StreamState], after: Iterable[StreamState]
) -> list[StreamState]:
    """Restrict streams to babies committed before the listing and still not merged."""
    first = {stream.stream_id: stream for stream in before}
    return [
        StreamState(
            stream.stream_id,
            first[stream.stream_id].committed_offset,
            stream.deleted_offset,
            stream.stopped_offset,
            stream.entries,
        )
        for stream in after
        if stream.stream_id in first
    ]


def _check_stats(client: MetaClient, segments: Sequence[SegmentState]) -> list[Violation]:
    """Compare the totals, unless the segments changed between the two readings."""
    stats = client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest())
    again = read_segments(client)
    if {s.segment_id for s in again} != {s.segment_id for s in segments}:
        return []
    totals = SegmentTotals(stats.segment_count, stats.total_compressed_size_bytes)
    return list(invariants.stats_true(segments, totals))


def _check_footers(
    report: Report, client: MetaClient, store: ObjectStore, segments: Sequence[SegmentState]
) -> None:
    # pyarrow is no part of the `cli` extra; only a deep check needs it.
    from segments.parquet.reader import read_footer

    footers: list[tuple[SegmentState, StoredFooter]] = []
    unread: list[tuple[SegmentState, str]] = []
    for segment in segments:
        try:
            footers.append((segment, read_footer(store, segment.object_key)))
        except (ObjectMissing, CorruptObject) as error:
            unread.append((segment, str(error)))
    live_ids = {segment.segment_id for segment in _still_live(client, [s for s, _ in unread])}
    report.violations += [
        Violation("I9", segment.segment_id, f"object cannot be read: {why}")
        for segment, why in unread
        if segment.segment_id in live_ids
    ]
    for segment, stored in footers:
        report.violations += invariants.footer_matches(segment, stored)
    report.violations += invariants.merged_once(footers)
    report.footers = len(footers)


def _orphans(
    client: MetaClient,
    store: ObjectStore,
    segments: Iterable[SegmentState],
    objects: Iterable[ObjectInfo],
    age_secs: float,
) -> list[str]:
    """List merged objects older than `age_secs` that meta has no row of; changes nothing."""
    known = {segment.object_key for segment in segments}
    newest = store.now_nanos() - int(age_secs * NANOS)
    unknown = [
        info.key
        for info in objects
        if info.key not in known
        and info.modified_at_nanos < newest
        and isinstance(parse_key(info.key), MergedKey | AttemptKey)
    ]
    orphans: list[str] = []
    for start in range(0, len(unknown), KEYS_PER_CALL):
        keys = unknown[start : start + KEYS_PER_CALL]
        request = operations_pb2.CondemnObjectsRequest(object_keys=keys, dry_run=True)
        orphans += client.operations.CondemnObjects(request).condemned_keys
    return orphans


def _stream(info: nursery_pb2.IngestStreamInfo) -> StreamState:
    return StreamState(
        info.stream_id,
        info.committed_offset,
        info.deleted_offset,
        info.stopped_offset if info.HasField("stopped_offset") else None,
        tuple(EntryState(d.dataset_id, d.merged_offset, d.deleted_offset) for d in info.datasets),
    )


def _segment(info: common_pb2.SegmentInfo) -> SegmentState:
    name = info.cloud_object_key
    return SegmentState(
        info.id,
        info.dataset_id,
        join_key(name.prefix.prefix, name.key),
        info.compressed_size_bytes,
        info.number_of_events,
        info.time_range.start_time,
        info.time_range.end_time,
    )
