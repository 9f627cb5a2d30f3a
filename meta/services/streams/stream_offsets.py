"""Offsets of streams at a version, the location of one baby's records, usage."""

import struct
from collections.abc import Sequence
from uuid import UUID

from meta.commits.merge_debts import HELD_AT
from meta.errors import InvalidArgument, NotFound, ReplyTooLarge
from meta.services.messages import (
    checks,
    convert,
    cursors,
    deduplication_keys,
    ingest_limits,
    reply_bounds,
)
from meta.services.server_parts import ServerParts
from meta.services.streams import ingest_shares
from meta.store.catalog import dataset_layouts, datasets, usage
from meta.store.deduplication.windows import count_records, read_refused_outside
from meta.store.engine.pool import Transaction
from meta.store.lookup import lineage
from meta.store.lookup.lineage import Place, Whereabouts
from meta.store.streams import commits, streams
from meta.store.streams.stream_reads import NO_ID
from meta.v1 import common_pb2, operations_pb2

DATASETS_MAX = 1_000
FLUSHES_MAX = 1_000
# An offset has 52 bytes, so they fit into 3.5 MiB.
OFFSETS_MAX = 60_000
# The subject of a reply of GetUsage that is too large, and the call that returns it.
_USAGE_INSTEAD = (
    "datasets",
    f"name up to {DATASETS_MAX} in GetUsage.dataset_ids, from pages of CatalogService.ListDatasets",
)
# Version, and the last stream of the page before.
_OFFSETS_POSITION = struct.Struct("!q16s")


def get_offsets_at(
    server: ServerParts, request: operations_pb2.GetOffsetsAtRequest
) -> operations_pb2.GetOffsetsAtResponse:
    """Per stream, the last offset whose records a dataset shows at a version."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    at_version = checks.count(request.version, "version")
    after = NO_ID
    if request.page_cursor:
        at_version, after = _offsets_position(request)
    version, offsets = server.transactions.read(
        lambda tx: lineage.offsets_at(tx, dataset_id, at_version)
    )
    if not request.paged and len(offsets) > OFFSETS_MAX:
        raise ReplyTooLarge(
            f"{len(offsets)} streams exceed the {OFFSETS_MAX} of one reply; ask for pages"
        )
    stream_ids = sorted(stream_id for stream_id in offsets if stream_id > after)
    reply = operations_pb2.GetOffsetsAtResponse(
        version=version,
        offsets=[
            operations_pb2.StreamOffsetAt(stream_id=str(i), stream_offset=offsets[i])
            for i in stream_ids[:OFFSETS_MAX]
        ],
    )
    if len(stream_ids) > OFFSETS_MAX:
        position = _OFFSETS_POSITION.pack(version, stream_ids[OFFSETS_MAX - 1].bytes)
        reply.next_page_cursor = cursors.encode(position, _bound_to(position, dataset_id))
    return reply


def locate_offset(
    server: ServerParts, request: operations_pb2.LocateOffsetRequest
) -> operations_pb2.LocateOffsetResponse:
    """The segments that hold the records of one baby, through all merges."""
    stream_id = checks.uuid(request.stream_id, "stream_id")
    offset = checks.count(request.offset, "offset")
    whereabouts: Whereabouts = server.transactions.read(
        lambda tx: lineage.locate(tx, stream_id, offset)
    )
    return operations_pb2.LocateOffsetResponse(
        committed=whereabouts.is_committed,
        reaped=whereabouts.is_reaped,
        baby=None if whereabouts.baby is None else convert.baby_info(whereabouts.baby),
        locations=[_place(server, location) for location in whereabouts.places],
    )


def get_committed_flushes(
    server: ServerParts, request: operations_pb2.GetCommittedFlushesRequest
) -> operations_pb2.GetCommittedFlushesResponse:
    """Read the committed flush ids of a range of offsets; unknown ones are skipped."""
    stream_id = checks.uuid(request.stream_id, "stream_id")
    first = checks.count(request.first_offset, "first_offset")
    last = checks.count(request.last_offset, "last_offset")
    if not first <= last < first + FLUSHES_MAX:
        raise InvalidArgument(
            f"last_offset is {last}, expected {first} to {first + FLUSHES_MAX - 1}",
            field="last_offset",
        )

    def work(tx: Transaction) -> list[tuple[int, bytes]]:
        streams.check_owner(tx, stream_id)
        return commits.list_flushes(tx, stream_id, first, last)

    flushes = server.transactions.read(work)
    return operations_pb2.GetCommittedFlushesResponse(
        flushes=[
            operations_pb2.CommittedFlush(offset=offset, flush_id=flush_id)
            for offset, flush_id in flushes
        ],
        kept_secs=int(server.settings.lifetimes.baby_row),
    )


def get_usage(
    server: ServerParts, request: operations_pb2.GetUsageRequest
) -> operations_pb2.GetUsageResponse:
    """Read the records of datasets this month, and their limits; -1 = unlimited."""
    checks.at_most(request.dataset_ids, "dataset_ids", DATASETS_MAX)
    dataset_ids = [checks.uuid(d, "dataset_ids") for d in request.dataset_ids]
    checks.distinct(dataset_ids, "dataset_ids")
    columns_of = checks.optional_uuid(request.columns_of, "columns_of")
    if columns_of is not None and columns_of not in dataset_ids:
        raise InvalidArgument("it is not in dataset_ids", field="columns_of")
    debts = server.debts.segments()

    def work(tx: Transaction) -> operations_pb2.GetUsageResponse:
        if not dataset_ids:
            reply_bounds.check_number(datasets.count_live(tx), *_USAGE_INSTEAD)
        used_by_id = usage.read(tx, dataset_ids)
        limited = {u.creator for u in used_by_id.values() if u.creator and u.creator_limit >= 0}
        creator_records = server.creators.read(tx, limited)
        tenants_of = ingest_shares.read(tx, server.tenant_records, used_by_id.values())
        reply = operations_pb2.GetUsageResponse()
        for dataset_id in dataset_ids or used_by_id:
            if dataset_id not in used_by_id:
                raise NotFound("there is no such dataset", dataset_id=dataset_id)
            used = used_by_id[dataset_id]
            reply.usage.add(
                dataset_id=str(dataset_id),
                month=used.month,
                records=used.records,
                limit=used.limit or server.settings.records_per_month,
                dataset_name=used.name,
                ingest_limits=ingest_limits.message(used.ingest_limits),
                merge_debt=debts.get(str(dataset_id), 0),
                merge_debt_max=server.debts.bound * HELD_AT,
                rejects_since=used.rejects_since,
                timestamp_unit=operations_pb2.TimestampUnit.ValueType(used.timestamp_unit),
                enforced_columns=_enforced(tx, dataset_id) if dataset_id == columns_of else (),
                creator_limit=used.creator_limit if used.creator_limit >= 0 else None,
                creator_records=creator_records.get(used.creator or "", 0),
                tenant=tenants_of.get(used.tenant_key),
            )
        if request.with_rows:
            _add_counts(tx, reply)
        _add_windows(
            tx, reply, [u.deduplication_key for u in used_by_id.values() if u.deduplication_key]
        )
        return reply

    reply = server.transactions.read(work)
    reply_bounds.check_size(reply, len(reply.usage), *_USAGE_INSTEAD)
    return reply


def _add_counts(tx: Transaction, reply: operations_pb2.GetUsageResponse) -> None:
    ids = [UUID(used.dataset_id) for used in reply.usage]
    counts = count_records(tx, ids)
    for used in reply.usage:
        used.rows, used.duplicates = counts[UUID(used.dataset_id)]


def _add_windows(
    tx: Transaction, reply: operations_pb2.GetUsageResponse, once: Sequence[int]
) -> None:
    """Add the windows of the datasets with some keys that refuse events outside."""
    windows = read_refused_outside(tx, once)
    if not windows:
        return
    ids = [UUID(used.dataset_id) for used in reply.usage]
    by_id = {d.id: d for d in datasets.list_some(tx, ids) if d.key in windows}
    layouts = dataset_layouts.read(tx, list(by_id))
    for used in reply.usage:
        dataset = by_id.get(UUID(used.dataset_id))
        if dataset is None:
            continue
        columns = layouts[dataset.id].promoted_columns
        matching = [column for column in columns if column.name == dataset.deduplication_column]
        deduplication = deduplication_keys.deduplication_message(dataset, windows[dataset.key])
        used.deduplication.CopyFrom(deduplication)
        used.deduplication_column.CopyFrom(convert.promoted_messages(matching)[0])


def _enforced(tx: Transaction, dataset_id: UUID) -> list[common_pb2.PromotedColumn]:
    columns = dataset_layouts.read(tx, [dataset_id])[dataset_id].promoted_columns
    return convert.promoted_messages([column for column in columns if column.is_enforced])


def _place(server: ServerParts, location: Place) -> operations_pb2.OffsetLocation:
    stores = server.settings.stores
    return operations_pb2.OffsetLocation(
        dataset_id=str(location.dataset_id),
        merged=location.is_merged,
        segments=[convert.segment_info(stores, s) for s in location.segments],
    )


def _offsets_position(request: operations_pb2.GetOffsetsAtRequest) -> tuple[int, UUID]:
    """The version of the first page, and the last stream of the page before."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    position = cursors.decode(
        request.page_cursor,
        _OFFSETS_POSITION.size,
        lambda raw: _bound_to(raw, dataset_id),
        "page_cursor",
    )
    version, last = _OFFSETS_POSITION.unpack(position)
    return version, UUID(bytes=last)


def _bound_to(position: bytes, dataset_id: UUID) -> bytes:
    return repr((position, "GetOffsetsAt", dataset_id)).encode()
