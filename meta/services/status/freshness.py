"""Freshness of datasets: the age of what is committed and not visible to readers yet."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from uuid import UUID

from meta import access
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.catalog import datasets
from meta.store.damage import parked_streams
from meta.store.engine.pool import Transaction
from meta.store.status import freshness, visibility_counts
from meta.store.status.freshness import FreshnessPage, FreshnessRow
from meta.store.status.visibility_counts import NOT_MEASURED
from meta.store.versions import clock
from meta.v1 import status_pb2 as pb

LIMIT_DEFAULT, LIMIT_MAX = 100, 1_000
# A nursery merges what is 2 s old by default, and polls and writes for some seconds.
GATHERING_NANOS = 10 * 10**9


def list_freshness(
    server: ServerParts, request: pb.ListFreshnessRequest
) -> pb.ListFreshnessResponse:
    """The datasets whose oldest baby segment has waited longest."""
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    is_of_one = request.WhichOneof("identifier") is not None
    identifier = checks.identifier(request) if is_of_one else None

    def work(tx: Transaction) -> pb.ListFreshnessResponse:
        if identifier is None:
            page = freshness.read(tx, limit, include_fresh=request.include_fresh)
        else:
            page = freshness.read_one(tx, datasets.get(tx, identifier).id)
        return _response(tx, page, _nursery_seen_nanos(server, tx))

    return server.transactions.read(work)


def _response(
    tx: Transaction, page: FreshnessPage, nursery_seen_nanos: int
) -> pb.ListFreshnessResponse:
    streams = {row.stream_id for row in page.datasets if row.stream_id is not None}
    parked = parked_streams.offsets_among(tx, streams)
    times = visibility_counts.of_last_hour(tx, [row.dataset_id for row in page.datasets])
    now = clock.now_nanos(tx)
    return pb.ListFreshnessResponse(
        datasets=[
            filled(
                pb.DatasetFreshness,
                _shown(row),
                stage=_stage(row, parked, now),
                **asdict(times.get(row.dataset_id, NOT_MEASURED)),
            )
            for row in page.datasets
        ],
        waiting_datasets=page.waiting_datasets,
        live_datasets=page.live_datasets,
        streams_cut=0 if access.current.get().is_of_other_tenant else page.streams_cut,
        database_time_nanos=now,
        nursery_seen_nanos=nursery_seen_nanos,
    )


def _shown(row: FreshnessRow) -> FreshnessRow:
    """Return a dataset as its caller may see it.

    Streams are the operator's, and baby segments hold records of other tenants.
    """
    if access.current.get().is_of_other_tenant:
        return replace(row, stream_id=None, offset=0, collector_id="", size_bytes=0)
    return row


def _stage(row: FreshnessRow, parked: Mapping[UUID, int], now: int) -> pb.MergeStage.ValueType:
    if row.stream_id is None:
        return pb.MERGE_STAGE_UNSPECIFIED
    if parked.get(row.stream_id, row.offset + 1) <= row.offset:
        return pb.MERGE_STAGE_PARKED
    if row.is_detached:
        return pb.MERGE_STAGE_AWAITS_RECONCILE
    if now - row.oldest_committed_at_nanos < GATHERING_NANOS:
        return pb.MERGE_STAGE_GATHERING
    return pb.MERGE_STAGE_WAITING


def _nursery_seen_nanos(server: ServerParts, tx: Transaction) -> int:
    """The last report of a nursery that has not ended; 0 = there is none."""
    nurseries = server.reports.of_kind(tx, "nursery").processes
    return max((each.last_seen_nanos for each in nurseries if not each.is_ended), default=0)
