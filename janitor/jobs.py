"""The janitor's jobs, one function each. Each may be interrupted anywhere and run again."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from dataplane.clocks import read_database_clock
from dataplane.condemnation import Condemnation
from dataplane.deletion_permit import DeletionPermit
from janitor.config import Settings
from janitor.orphans import SweepTotals, sweep
from janitor.scrub import Pace, scrub_piece
from meta import metrics
from meta.client import MetaClient, location
from meta.process.shutdown import Shutdown
from meta.v1.janitor_pb2 import CreateMergeTasksRequest
from meta.v1.operations_pb2 import (
    ExpireTableObjectsRequest,
    ForgetStreamsRequest,
    GetServerStateRequest,
)
from meta.v1.segment_deletion_pb2 import (
    ConfirmTombstoneDeletionRequest,
    GetTombstonedSegmentsForDeletionRequest,
    TombstonedSegmentInfo,
)
from segments.errors import StoreError
from segments.inventory.listing import list_objects, stream_ids
from segments.keys import (
    BABIES_ROOT,
    DATASETS_ROOT,
    QUARANTINE_ROOT,
    TABLES_ROOT,
    TableKey,
    join_key,
    merged_prefix,
    parse_key,
    store_of,
)
from segments.location import Stores, StoreUnknown
from segments.store.interface import ObjectStore

log = structlog.get_logger()
TOMBSTONED_PAGE = 1_000
# Streams of one call that forgets the others.
LISTED_MAX = 1_000
NANOS = 1_000_000_000
# A new pass, or the pass of a janitor that died, begins so much later at most.
SCRUB_REST_SECS = 30.0


@dataclass(frozen=True, slots=True)
class Tools:
    """Dependencies of the jobs; `meta_stores` are the stores as meta names them."""

    meta: MetaClient
    store: ObjectStore
    meta_stores: Stores
    settings: Settings
    shutdown: Shutdown
    # Tells this janitor from others.
    janitor_id: str


def plan_merges(tools: Tools) -> None:
    """Ask meta to create merge tasks, by its own policy."""
    reply = tools.meta.janitor.CreateMergeTasks(CreateMergeTasksRequest())
    if reply.tasks_created:
        log.info(
            "merges_planned",
            tasks_created=reply.tasks_created,
            segments_included=reply.segments_included,
        )


def delete_tombstoned(tools: Tools) -> None:
    """Delete the objects of segments tombstoned past their grace, then confirm, page by page.

    Of a dataset with a deletion brake meta names none, until an operator releases it.
    """
    _delete_due(tools)
    brakes = tools.meta.operations.GetServerState(GetServerStateRequest()).deletion_brakes
    metrics.BRAKED_DATASETS.set(len(brakes))
    for brake in brakes:
        log.warning(
            "deletion_braked",
            dataset=brake.dataset_name,
            segments=brake.segments,
            size_bytes=brake.size_bytes,
            live_size_bytes=brake.live_size_bytes,
        )


def _delete_due(tools: Tools) -> None:
    permit = DeletionPermit(tools.meta)
    while not tools.shutdown.is_requested:
        permit.begin()
        segments = tools.meta.segment_deletion.GetTombstonedSegmentsForDeletion(
            GetTombstonedSegmentsForDeletionRequest()
        ).segments
        keys: dict[str, str] = {}
        for segment in segments:
            key = deletable_key(segment, tools.meta_stores)
            if key is None:
                at = segment.cloud_object_key
                log.error("tombstone_refused", segment_id=segment.segment_id, object_key=at.key)
            else:
                keys[segment.segment_id] = key
        # A full page, some of it deleted: there may be more.
        if not _delete_by_store(tools, permit, keys) or len(segments) < TOMBSTONED_PAGE:
            return


def _delete_by_store(tools: Tools, permit: DeletionPermit, keys: dict[str, str]) -> bool:
    """Delete confirmed objects, one store at a time; false if nothing was confirmed.

    A store that fails holds up no other one. Raises its error at the end.
    """
    by_store: dict[str, dict[str, str]] = {}
    for segment_id, key in keys.items():
        by_store.setdefault(store_of(key), {})[segment_id] = key
    is_any, failure = False, None
    for store_keys in by_store.values():
        try:
            is_any = _delete_confirmed(tools, permit, store_keys) or is_any
        except StoreError as error:
            failure = error
    if failure is not None:
        raise failure
    return is_any


def deletable_key(segment: TombstonedSegmentInfo, stores: Stores) -> str | None:
    """The key of a tombstoned segment's object; None if it is not its dataset's or elsewhere."""
    at = segment.cloud_object_key
    try:
        key = join_key(at.prefix.prefix, at.key)
        is_within = key.startswith(merged_prefix(segment.dataset_id))
        is_there = location(at.prefix.bucket) == stores.of_key(key)
    except (ValueError, StoreUnknown):
        return None
    return key if is_within and is_there else None


def _delete_confirmed(tools: Tools, permit: DeletionPermit, keys: dict[str, str]) -> bool:
    """Delete objects, keyed by segment id, and confirm it; false if none was confirmed."""
    if not keys or not permit.is_valid():
        return False
    tools.store.delete(list(keys.values()))
    reply = tools.meta.segment_deletion.ConfirmTombstoneDeletion(
        ConfirmTombstoneDeletionRequest(segment_ids=list(keys))
    )
    if reply.WhichOneof("result") == "error":
        log.error("confirm_refused", reason=reply.error.reason, message=reply.error.message)
        return False
    metrics.DELETED_OBJECTS.labels("tombstoned").inc(reply.success.deleted_count)
    log.info("tombstoned_deleted", segments=reply.success.deleted_count)
    return True


def delete_table_metadata(tools: Tools) -> None:
    """Delete table metadata that nobody was handed for a grace; one that is missed is an orphan."""
    has_more, permit = True, DeletionPermit(tools.meta)
    while has_more and not tools.shutdown.is_requested:
        permit.begin()
        reply = tools.meta.operations.ExpireTableObjects(ExpireTableObjectsRequest())
        keys = [key for key in reply.object_keys if isinstance(parse_key(key), TableKey)]
        if keys and not permit.is_valid():
            return
        tools.store.delete(keys)
        has_more = reply.has_more
        if keys:
            metrics.DELETED_OBJECTS.labels("table_metadata").inc(len(keys))
            log.info("table_metadata_deleted", objects=len(keys))


def collect_orphans(tools: Tools) -> None:
    """Delete objects that rows prove to be garbage and that are too old to be registered."""
    # The writer of a younger object may still register it.
    min_age = tools.meta.operations.GetServerState(GetServerStateRequest()).orphan_min_age
    swept = sweep_orphans(tools, min_age.ToNanoseconds())
    metrics.ORPHANS_LEFT.set(swept.remaining)


def sweep_orphans(tools: Tools, min_age_nanos: int, dataset_id: str = "") -> SweepTotals:
    """Delete orphans of an age, of one dataset or of all."""

    def note_left(key: str) -> None:
        log.info("unknown_segment_left", object_key=key)

    condemn = Condemnation(tools.meta, tools.store, note_left)
    # The store's clock is used, because the objects' times are the store's.
    until = tools.store.now_nanos() - min_age_nanos
    permit = DeletionPermit(tools.meta).begin()
    swept = sweep(tools.store, condemn, until, tools.shutdown, permit.is_valid, dataset_id)
    log.info(
        "orphans_swept",
        listed=swept.listed,
        deleted=swept.deleted,
        left=swept.remaining,
        foreign=swept.foreign,
    )
    return swept


def forget_streams(tools: Tools) -> None:
    """Report to meta the streams that have an object, by interval; it forgets the others."""
    # Any object of a stream counts, whatever its name.
    streams = stream_ids(list_objects(tools.store, BABIES_ROOT))
    after = ""
    while not tools.shutdown.is_requested:
        listed = list(itertools.islice(streams, LISTED_MAX))
        through = listed[-1] if len(listed) == LISTED_MAX else ""
        request = ForgetStreamsRequest(
            after_stream_id=after, through_stream_id=through, listed_stream_ids=listed
        )
        _forget(tools, request)
        if not through:
            return
        after = through


def _forget(tools: Tools, request: ForgetStreamsRequest) -> None:
    """Repeat a request until an interval has no more to forget; meta forgets a bounded number."""
    is_full = True
    while is_full and not tools.shutdown.is_requested:
        is_full = tools.meta.operations.ForgetStreams(request).forgotten >= LISTED_MAX


class RestingScrub:
    """The scrub, which rests for SCRUB_REST_SECS while another janitor scrubs or no pass is due."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._rests_until = float("-inf")

    def __call__(self, tools: Tools) -> None:
        """Scrub a piece, unless it rests."""
        if self._monotonic() >= self._rests_until and not scrub(tools):
            self._rests_until = self._monotonic() + SCRUB_REST_SECS


def scrub(tools: Tools) -> bool:
    """Read stored objects at the set rate and compare them with their checksums.

    False if there is nothing to read now.
    """
    rate = tools.settings.scrub_bytes_per_sec
    if not rate:
        return False
    pace = Pace(rate, tools.shutdown.wait)
    pass_secs = tools.settings.scrub_pass_secs
    return scrub_piece(
        tools.meta,
        tools.store,
        tools.shutdown,
        pace,
        holder=tools.janitor_id,
        pass_secs=pass_secs,
    )


def measure_clocks(tools: Tools) -> None:
    """Measure how far this process's clock and the store's are from the database's."""
    database_clock = read_database_clock(tools.meta)
    metrics.CLOCK_SKEW["janitor"].set(database_clock.skew_secs())
    store_nanos = tools.store.now_nanos()
    metrics.STORE_CLOCK_SKEW.set((store_nanos - database_clock.now_nanos()) / NANOS)


def abort_uploads(tools: Tools) -> None:
    """Abort the unfinished uploads of writers that died."""
    before = tools.store.now_nanos() - int(tools.settings.upload_max_age_secs * NANOS)
    for root in (BABIES_ROOT, DATASETS_ROOT, QUARANTINE_ROOT, TABLES_ROOT):
        aborted = tools.store.abort_stale_uploads(root, before)
        if aborted:
            metrics.DELETED_OBJECTS.labels("unfinished").inc(aborted)
            log.info("uploads_aborted", prefix=root, uploads=aborted)
