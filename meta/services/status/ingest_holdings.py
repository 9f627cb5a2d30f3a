"""Stages between a sender and the readers: routing, quotas, nurseries, damage, the quarantine."""

from collections.abc import Iterator

from meta.commits.merge_debts import HELD_AT
from meta.self_report import waiting_part
from meta.services.status.holdings import COUNTED_MAX, Explained, holding
from meta.store.catalog import usage
from meta.store.damage import parked_streams
from meta.store.registration import quarantined_ranges
from meta.store.status import freshness
from meta.store.streams import dataset_sources, detached_streams
from meta.store.versions import witness_state
from meta.v1 import status_pb2 as pb


def find(explained: Explained) -> Iterator[pb.Holding]:
    """Yield what keeps records from coming, and what holds those that came."""
    yield from _sources(explained)
    yield from _refusals(explained)
    yield from _detached(explained)
    if not explained.reports_now("nursery"):
        yield holding(pb.HOLDING_STAGE_NO_NURSERY, explained.reports["nursery"].seen_nanos)
    yield from _waiting(explained)
    yield from _withheld(explained)
    offsets = quarantined_ranges.of_dataset(explained.tx, explained.dataset.id)
    if offsets:
        yield holding(pb.HOLDING_STAGE_QUARANTINED, subjects=offsets, amount=sum(offsets.values()))


def _sources(explained: Explained) -> Iterator[pb.Holding]:
    sources = dataset_sources.sources(explained.tx, explained.dataset.id)
    if not sources.is_routed:
        yield holding(pb.HOLDING_STAGE_NO_TOKEN, amount=explained.live_segments)
    if not sources.has_stream:
        yield holding(pb.HOLDING_STAGE_NO_STREAM, amount=explained.live_segments)
    # One that ends in good order ends its streams.
    seen_nanos = explained.reports["collector"].seen_nanos
    if sources.has_stream and seen_nanos and not explained.reports_now("collector"):
        yield holding(pb.HOLDING_STAGE_NO_COLLECTOR, seen_nanos)


def _refusals(explained: Explained) -> Iterator[pb.Holding]:
    """Yield why collectors refuse exports."""
    server, dataset_id = explained.server, explained.dataset.id
    used = usage.read(explained.tx, [dataset_id])[dataset_id]
    limit = used.limit or server.settings.records_per_month
    if 0 <= limit <= used.records:
        yield holding(pb.HOLDING_STAGE_QUOTA_REACHED, amount=used.records, limit=limit)
    elif used.creator and used.creator_limit >= 0:
        records = server.creators.read(explained.tx, {used.creator})[used.creator]
        if records >= used.creator_limit:
            yield holding(
                pb.HOLDING_STAGE_QUOTA_REACHED,
                subjects=[used.creator],
                amount=records,
                limit=used.creator_limit,
                detail="all datasets of their creator",
            )
    segments, refused_at = explained.debts.get(str(dataset_id), 0), server.debts.bound * HELD_AT
    if 0 < refused_at <= segments:
        yield holding(pb.HOLDING_STAGE_EXPORTS_REFUSED, amount=segments, limit=refused_at)


def _detached(explained: Explained) -> Iterator[pb.Holding]:
    streams = detached_streams.of_dataset(explained.tx, explained.dataset.id, COUNTED_MAX)
    if streams:
        status = witness_state.status(explained.tx)
        yield holding(
            pb.HOLDING_STAGE_AWAITS_RECONCILE,
            status.restored_at_nanos,
            subjects=streams,
            amount=len(streams),
            detail=status.restored_reason,
        )


def _waiting(explained: Explained) -> Iterator[pb.Holding]:
    """Yield what ListFreshness has as the oldest that waits, with the reason of a parked stream."""
    for row in freshness.read_one(explained.tx, explained.dataset.id).datasets:
        if row.stream_id is None:
            continue
        stage, since_nanos, detail = (
            pb.HOLDING_STAGE_AWAITS_NURSERY,
            row.oldest_committed_at_nanos,
            "more may wait" if row.is_at_least else "",
        )
        for parked in parked_streams.among(explained.tx, [row.stream_id]):
            if parked.offset <= row.offset:
                stage, since_nanos = pb.HOLDING_STAGE_PARKED, parked.parked_at_nanos
                detail = f"offset {parked.offset}: {parked.reason}"
        yield holding(
            stage, since_nanos, subjects=[row.stream_id], amount=row.babies, detail=detail
        )


def _withheld(explained: Explained) -> Iterator[pb.Holding]:
    """Yield the nurseries that say why they do not merge the dataset."""
    part = waiting_part(str(explained.dataset.id))
    reasons = {
        report.name: check.text.removeprefix(f"{part}: ")
        for report in explained.reports["nursery"].running(explained.now_nanos)
        for check in report.checks
        if not check.is_ok and check.text.startswith(f"{part}: ")
    }
    if reasons:
        yield holding(
            pb.HOLDING_STAGE_WITHHELD,
            subjects=reasons,
            amount=len(reasons),
            detail=next(iter(reasons.values())),
        )
