"""NurseryService: streams with their unmerged babies, registrations, ends of streams."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias
from uuid import UUID

from meta import access
from meta.commits.group_commit import Committer
from meta.commits.merge_registrar import QUICK_MOVES
from meta.errors import InvalidArgument, Unavailable, VersionExpired
from meta.services.messages import checks, reply_bounds
from meta.services.registration.registration_checks import checked_merge
from meta.services.server_parts import ServerParts
from meta.services.streams import poll_reply as replies
from meta.services.streams.poll_pages import PageRequest, Pages
from meta.store.catalog import datasets
from meta.store.engine import continuity
from meta.store.engine.pool import Transaction
from meta.store.streams import (
    detached_streams,
    merged_offsets,
    stream_ends,
    stream_reads,
    tokens,
)
from meta.store.streams.merged_offsets import Backlogs
from meta.store.streams.stream_reads import StreamRow, StreamScope
from meta.store.streams.streams import Stop, check_owner
from meta.store.versions import clock, versions
from meta.store.versions.versions import Version
from meta.v1 import nursery_pb2 as pb

SHARDS_MAX = 65_536
WAITING_MAX = 1_000
# Streams and entries named as removed in one reply: 1 MB of ids.
REMOVALS_MAX = 10_000
# The most registrations whose replies are read together; each may have the maximum size.
REPLIES_MAX = 32
_REASONS = (pb.STOP_REASON_CLIENT, pb.STOP_REASON_TIMEOUT)
# How a poll is made whose catalog does not fit into one reply.
_INSTEAD = "call GetIngestStreamsForNursery with paged"

# The version of a registration, and the streams whose offsets it moved.
_Registered: TypeAlias = tuple[Version, frozenset[UUID]]


class NurseryServicer:
    """NurseryService; see docs/contract.md."""

    def __init__(self, server: ServerParts) -> None:
        self._transactions = transactions = server.transactions
        self._settings = settings = server.settings
        self._registrar, self._debts = server.registrar, server.debts
        self._pages = Pages(settings.stores, settings.lifetimes.tombstone_grace)
        # The streams of all waiting replies are read in one snapshot, after their commits.
        self._replies: Committer[_Registered, pb.RegisterMergedSegmentResponse, Transaction] = (
            Committer(
                name="registered_streams",
                begin=transactions.database.read,
                keys=lambda _: (),
                run_batch=self._registered,
                run_alone=self._registered_alone,
                batch_max=REPLIES_MAX,
            )
        )

    def GetIngestStreamsForNursery(
        self, request: pb.GetIngestStreamsRequest
    ) -> pb.GetIngestStreamsResponse:
        """Read streams with their unmerged babies, in one snapshot."""
        shard_count = checks.count(request.shard_count, "shard_count", high=SHARDS_MAX) or 1
        scope = StreamScope(
            since=checks.count(request.since_seq, "since_seq"),
            shard_indexes=_shard_indexes(request, shard_count),
            shard_count=shard_count,
        )
        if not request.paged:
            reply = self._transactions.read(lambda tx: self._poll(tx, scope))
            return self._without_doubt(replies.without_kept(reply, request))
        checks.at_most(request.waiting_dataset_ids, "waiting_dataset_ids", WAITING_MAX)
        waiting = {checks.uuid(d, "waiting_dataset_ids") for d in request.waiting_dataset_ids}
        asked = PageRequest(
            replace(
                scope,
                waiting=tuple(sorted(waiting)),
                omits_merged=request.omit_merged_entries,
            ),
            checks.count(request.catalog_since_seq, "catalog_since_seq"),
            request.page_cursor,
        )
        reply = self._transactions.read(lambda tx: self._page(tx, asked))
        if not request.page_cursor:
            for key, count in self._debts.segments().items():
                reply.merge_debts.add(dataset_id=key, segments=count, bound=self._debts.bound)
        return self._without_doubt(replies.without_kept(reply, request))

    def _without_doubt(self, reply: pb.GetIngestStreamsResponse) -> pb.GetIngestStreamsResponse:
        """Let nothing be reaped unless this database is known to be the bucket's newest."""
        if any(stream.reapable_offset > stream.deleted_offset for stream in reply.streams):
            try:
                self._transactions.database.continuity.look()
            except Unavailable:
                for stream in reply.streams:
                    stream.reapable_offset = stream.deleted_offset
        return reply

    async def RegisterMergedSegment(
        self, request: pb.RegisterMergedSegmentRequest
    ) -> pb.RegisterMergedSegmentResponse:
        """Register merged segments and advance the offsets that they cover, at one version."""
        is_large = len(request.stream_offsets) > QUICK_MOVES
        if is_large:
            checks_of = partial(checked_merge, request, self._settings.stores, access.caller())
            merge = await asyncio.to_thread(checks_of)
        else:
            merge = checked_merge(request, self._settings.stores, access.caller())
        version = await self._registrar.register(merge)
        if request.omit_streams:
            return pb.RegisterMergedSegmentResponse(segment_version=version, response_seq=version)
        registered = version, frozenset(move.stream_id for move in merge.moves)
        if is_large:
            # Done in a thread, so that no other reply waits for it.
            return await asyncio.to_thread(self._registered_alone, registered)
        return await self._replies.submit(registered)

    def MarkStreamStopped(
        self, request: pb.MarkStreamStoppedRequest
    ) -> pb.MarkStreamStoppedResponse:
        """Stop a stream at its committed offset, or one offset further."""
        stream_id = checks.uuid(request.stream_id, "stream_id")
        if request.reason not in _REASONS:
            raise InvalidArgument(f"reason {request.reason} is not a reason", field="reason")
        end = Stop(
            final_offset=checks.count(request.final_offset, "final_offset", low=-1),
            stopped_at_nanos=checks.count(request.stopped_at_nanos, "stopped_at_nanos") or None,
            reason=request.reason,
        )

        def work(tx: Transaction) -> None:
            check_owner(tx, stream_id)
            if end.reason == pb.STOP_REASON_TIMEOUT:
                detached_streams.check_may_end(tx, stream_id)
            stream_ends.stop(tx, stream_id, end)

        self._transactions.write(work)
        return pb.MarkStreamStoppedResponse()

    def UpdateDeletedOffset(
        self, request: pb.UpdateDeletedOffsetRequest
    ) -> pb.UpdateDeletedOffsetResponse:
        """Record up to which offset a stream's babies are deleted."""
        stream_id = checks.uuid(request.stream_id, "stream_id")
        offset = checks.count(request.deleted_offset, "deleted_offset", low=-1)
        at = checks.count(request.deleted_ingest_time_nanos, "deleted_ingest_time_nanos")
        above: int | None = -1
        while above is not None:
            page = partial(
                stream_ends.reap,
                stream_id=stream_id,
                offset=offset,
                ingest_time_nanos=at,
                above=above,
            )
            above = self._transactions.write(page)
        return pb.UpdateDeletedOffsetResponse()

    def DeleteIngestStreamDataset(
        self, request: pb.DeleteIngestStreamDatasetRequest
    ) -> pb.DeleteIngestStreamDatasetResponse:
        """Remove a drained entry; the last one of a drained stream retires it."""
        stream_id = checks.uuid(request.stream_id, "stream_id")
        dataset_id = checks.uuid(request.dataset_id, "dataset_id")
        merged = checks.count(request.merged_offset, "merged_offset", low=-1)
        checks.count(request.current_offset, "current_offset", low=merged)
        self._transactions.write(
            lambda tx: stream_ends.remove_entry(tx, stream_id, dataset_id, merged)
        )
        return pb.DeleteIngestStreamDatasetResponse()

    def _poll(self, tx: Transaction, scope: StreamScope) -> pb.GetIngestStreamsResponse:
        seq = versions.current(tx)
        _check_since(tx, seq, scope.since, "since_seq")
        reply_bounds.check_number(datasets.count_live(tx), "datasets", _INSTEAD)
        reply_bounds.check_number(tokens.count_active(tx), "ingest tokens", _INSTEAD)
        if not scope.since:
            replies.check_count(self._settings.location, *stream_reads.count(tx, scope))
        grace_secs = self._settings.lifetimes.tombstone_grace
        streams = stream_reads.read_streams(tx, scope, grace_secs)
        reply = self._catalog(tx, seq, scope)
        reply.streams.extend(self._streams(tx, streams))
        periods = stream_reads.read_periods(tx, streams, replies.BABIES_MAX)
        reply.routing_history.extend(replies.periods(periods))
        if not replies.is_within_bound(reply):
            del reply.streams[:]
            reply.streams.extend(self._streams(tx, streams, replies.SHORTEST))
        if not replies.is_within_bound(reply):
            replies.without_layouts(reply)
        if not replies.is_within_bound(reply):
            # More shards have fewer streams, but the same catalog.
            catalog = self._catalog(tx, seq, scope)
            replies.without_layouts(catalog)
            reply_bounds.check_size(catalog, len(catalog.datasets), "datasets", _INSTEAD)
            raise replies.too_large(len(reply.streams), reply.ByteSize())
        return reply

    def _page(self, tx: Transaction, asked: PageRequest) -> pb.GetIngestStreamsResponse:
        seq = versions.current(tx)
        _check_since(tx, seq, asked.scope.since, "since_seq")
        _check_since(tx, seq, asked.catalog_since, "catalog_since_seq")
        reply = pb.GetIngestStreamsResponse(
            response_seq=seq, database_time_nanos=clock.now_nanos(tx)
        )
        if asked.scope.since and not asked.cursor:
            self._add_removed(tx, asked.scope, reply)
        self._pages.read(tx, asked, reply)
        return reply

    def _streams(
        self, tx: Transaction, streams: list[StreamRow], detail: replies.Detail | None = None
    ) -> list[pb.IngestStreamInfo]:
        stores = self._settings.stores
        entries = merged_offsets.read(tx, Backlogs.whole([stream.id for stream in streams]))
        detail = detail or replies.affordable(stores.default, streams, entries)
        return replies.build_streams(tx, stores, streams, entries, detail)

    def _catalog(
        self, tx: Transaction, seq: Version, scope: StreamScope
    ) -> pb.GetIngestStreamsResponse:
        """The reply of a poll without its streams."""
        live = datasets.list_live(tx)
        infos = replies.dataset_infos(tx, self._settings.stores, live)
        reply = pb.GetIngestStreamsResponse(
            response_seq=seq,
            database_time_nanos=clock.now_nanos(tx),
            datasets=infos.values(),
            token_routing=replies.token_routing(tokens.list_active(tx)),
        )
        if scope.since:
            self._add_removed(tx, scope, reply)
        return reply

    def _add_removed(
        self, tx: Transaction, scope: StreamScope, reply: pb.GetIngestStreamsResponse
    ) -> None:
        stream_ids, entries = stream_reads.read_removed(tx, scope)
        if len(stream_ids) + len(entries) > REMOVALS_MAX:
            raise VersionExpired("too much was removed since; poll with since_seq 0")
        reply.removed_stream_ids.extend(map(str, stream_ids))
        reply.removed_entries.extend(replies.entry_refs(entries))

    def _registered(
        self, tx: Transaction, batch: Sequence[_Registered]
    ) -> list[pb.RegisterMergedSegmentResponse]:
        """The streams after the registrations, in one snapshot, whose version is response_seq."""
        seq = versions.current(tx)
        stream_ids = frozenset[UUID]().union(*(ids for _, ids in batch))
        streams = stream_reads.read_some(tx, stream_ids, self._settings.lifetimes.tombstone_grace)
        infos = dict(zip([s.id for s in streams], self._streams(tx, streams), strict=True))
        answers = []
        for version, ids in batch:
            dataset_infos = [infos[i] for i in sorted(ids & infos.keys())]
            reply = pb.RegisterMergedSegmentResponse(
                segment_version=version, response_seq=seq, streams=dataset_infos
            )
            if not replies.is_within_bound(reply):
                reply.ClearField("streams")
                reply.streams.extend(map(replies.offsets_only, dataset_infos))
            answers.append(reply)
        return answers

    def _registered_alone(self, registered: _Registered) -> pb.RegisterMergedSegmentResponse:
        return self._transactions.read(lambda tx: self._registered(tx, [registered])[0])


def _check_since(tx: Transaction, current: Version, since: int, field: str) -> None:
    """Refuse a version of which the changes since then are not known. 0 asks for everything."""
    if since > current:
        continuity.look_soon(tx.info)
        raise InvalidArgument(f"{field} {since} is above the current {current}", field=field)
    if since in {0, current}:
        return
    if since < stream_reads.removals_floor(tx) or versions.is_lost(tx, since):
        raise VersionExpired("too much was forgotten since; poll with since_seq 0")


def _shard_indexes(request: pb.GetIngestStreamsRequest, shard_count: int) -> tuple[int, ...]:
    """The shards that a poll names, in one form or the other."""
    index = checks.count(request.shard_index, "shard_index", high=shard_count - 1)
    if not request.shard_indexes:
        return (index,)
    if index:
        raise InvalidArgument("shard_index beside shard_indexes", field="shard_index")
    checks.distinct(request.shard_indexes, "shard_indexes")
    return tuple(
        checks.count(i, "shard_indexes", high=shard_count - 1) for i in request.shard_indexes
    )
