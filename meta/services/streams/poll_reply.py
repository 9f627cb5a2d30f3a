"""Builds nurseries' view of streams, within the bound of one reply.

The full form has 120 checkpoints per entry and 1,000 babies per stream. A reply that does not fit
gets shorter: only the newest checkpoint per entry, fewer babies per stream, and then
REPLY_TOO_LARGE.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from meta.errors import ReplyTooLarge
from meta.services.messages import convert
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.store.backups import kept_babies
from meta.store.backups.kept_babies import OffsetRange
from meta.store.catalog import automatic_columns, dataset_layouts, datasets
from meta.store.catalog.datasets import Dataset
from meta.store.deduplication.windows import read_refused_outside
from meta.store.engine.pool import Transaction
from meta.store.streams import stream_reads
from meta.store.streams.merged_offsets import EntryRow
from meta.store.streams.stream_reads import PeriodRow, StreamRow
from meta.store.streams.tokens import IngestToken
from meta.v1 import common_pb2, nursery_pb2
from segments.location import StoreLocation, Stores

CHECKPOINTS_MAX = 120
BABIES_MAX = 1_000
# Sizes on the wire, rounded up, of a baby with two stamps. The built message is measured as well.
_CHECKPOINT_BYTES = 34
_BABY_BYTES = 140
_STREAM_BYTES = 180
_ENTRY_BYTES = 110
_PLACE_BYTES = 64
_CATALOG_BYTES = 262_144
_SOME_ID = str(UUID(int=0))


@dataclass(frozen=True, slots=True)
class Detail:
    """The number of checkpoints of each entry and of babies of each stream in a reply."""

    checkpoints: int
    babies: int


SHORTEST = Detail(1, 1)


def build_streams(
    tx: Transaction,
    stores: Stores,
    streams: Sequence[StreamRow],
    entries: Sequence[EntryRow],
    detail: Detail,
) -> list[nursery_pb2.IngestStreamInfo]:
    """The streams with their entries, checkpoints and unmerged babies."""
    places: dict[UUID, common_pb2.CloudObjectPrefix] = {}
    placed: Mapping[UUID, str] = {}
    if stores.named_stores:
        listed = datasets.list_some(tx, {entry.dataset_id for entry in entries})
        placed = {dataset.id: dataset.store for dataset in listed if dataset.store}
    most = detail.checkpoints
    checkpoints: dict[tuple[UUID, UUID], list[nursery_pb2.OffsetCheckpoint]] = {}
    for row in stream_reads.read_checkpoints(tx, streams, most) if most else ():
        checkpoint = nursery_pb2.OffsetCheckpoint(
            segment_offset=row.version,
            stream_offset=row.stream_offset,
            ingest_timestamp_nanos=row.ingest_timestamp_nanos,
        )
        checkpoints.setdefault((row.stream_id, row.dataset_id), []).append(checkpoint)
    infos: dict[UUID, list[nursery_pb2.IngestStreamDatasetInfo]] = {}
    of_stream = {stream.id: stream for stream in streams}
    for entry in entries:
        prefix = places.get(entry.dataset_id) or convert.merged_place(
            stores, entry.dataset_id, placed.get(entry.dataset_id, "")
        )
        places[entry.dataset_id] = prefix
        info = _entry(of_stream[entry.stream_id], entry, prefix)
        info.offset_checkpoints.extend(checkpoints.get((entry.stream_id, entry.dataset_id), ()))
        infos.setdefault(entry.stream_id, []).append(info)
    babies: dict[UUID, list[nursery_pb2.BabySegmentInfo]] = {}
    for baby in stream_reads.read_babies(tx, streams, detail.babies):
        babies.setdefault(baby.stream_id, []).append(convert.baby_info(baby))
    kept = kept_babies.read(tx, [s.id for s in streams if s.reapable_offset > s.deleted_offset])
    return [
        _stream(
            stores.default,
            stream,
            infos.get(stream.id, ()),
            babies.get(stream.id, ()),
            kept.get(stream.id, ()),
        )
        for stream in streams
    ]


def affordable(
    location: StoreLocation, streams: Sequence[StreamRow], entries: Sequence[EntryRow]
) -> Detail:
    """The most detail that fits into a reply with these streams, by estimate."""
    fixed = _fixed_bytes(location, len(streams), len(entries))
    room = max(0, REPLY_BYTES_MAX - _CATALOG_BYTES - fixed)
    behind = sum(1 for s in streams if s.merged_floor < s.committed_offset)
    return Detail(
        checkpoints=_clamp(room // 2 // max(1, len(entries) * _CHECKPOINT_BYTES), CHECKPOINTS_MAX),
        babies=_clamp(room // 2 // max(1, behind * _BABY_BYTES), BABIES_MAX),
    )


def _fixed_bytes(location: StoreLocation, streams: int, entries: int) -> int:
    """Estimate, rounded up, of streams and entries without checkpoints and babies."""
    path = convert.bucket(location).ByteSize() + _PLACE_BYTES
    return streams * (_STREAM_BYTES + path) + entries * (_ENTRY_BYTES + path)


def estimate(location: StoreLocation, row: StreamRow, num_entries: int, detail: Detail) -> int:
    """Upper bound of a stream's bytes but for babies of many stamps."""
    path = convert.bucket(location).ByteSize() + _PLACE_BYTES
    entry = _ENTRY_BYTES + path + detail.checkpoints * _CHECKPOINT_BYTES
    babies = min(detail.babies, max(0, row.committed_offset - row.merged_floor))
    stream = _STREAM_BYTES + path + len(row.collector_id.encode()) + len(row.principal.encode())
    return stream + num_entries * entry + babies * _BABY_BYTES


def without_layouts(reply: nursery_pb2.GetIngestStreamsResponse) -> None:
    """Omit fields of datasets that the published contract does not have."""
    for dataset in reply.datasets:
        dataset.ClearField("sharding_fields")
        dataset.ClearField("promoted_columns")
        dataset.ClearField("automatic_columns")


def without_kept(
    reply: nursery_pb2.GetIngestStreamsResponse, request: nursery_pb2.GetIngestStreamsRequest
) -> nursery_pb2.GetIngestStreamsResponse:
    """Let nothing that a backup keeps be reaped by a nursery that would delete it."""
    for stream in reply.streams if not request.leaves_kept_ranges else ():
        if stream.kept_ranges:
            first = stream.kept_ranges[0].first_offset
            stream.reapable_offset = max(stream.deleted_offset, first - 1)
            del stream.kept_ranges[:]
    return reply


def is_within_bound(
    reply: nursery_pb2.GetIngestStreamsResponse | nursery_pb2.RegisterMergedSegmentResponse,
) -> bool:
    """True if the reply is within the bound."""
    return reply.ByteSize() <= REPLY_BYTES_MAX


def check_count(location: StoreLocation, streams: int, entries: int) -> None:
    """Raise ReplyTooLarge if the ids and prefixes alone pass the bound.

    120,000 streams would take 57 MB to build before they are measured.
    """
    stream_bytes = nursery_pb2.IngestStreamInfo(
        stream_id=_SOME_ID, cloud_stream_prefix=convert.stream_place(location, _SOME_ID)
    ).ByteSize()
    entry_bytes = nursery_pb2.IngestStreamDatasetInfo(
        dataset_id=_SOME_ID,
        cloud_merged_segments_prefix=convert.merged_place(Stores(location), _SOME_ID),
    ).ByteSize()
    if streams * stream_bytes + entries * entry_bytes > REPLY_BYTES_MAX:
        raise too_large(streams, _CATALOG_BYTES + _fixed_bytes(location, streams, entries))


def too_large(streams: int, size_bytes: int) -> ReplyTooLarge:
    """The refusal of a poll whose shortest reply is above the bound."""
    return ReplyTooLarge(
        f"{streams} streams take {size_bytes} bytes, more than {REPLY_BYTES_MAX}; ask for a"
        " shard of them with shard_index and shard_count",
        shard_count=2 * (size_bytes // REPLY_BYTES_MAX + 1),
    )


def periods(rows: Iterable[PeriodRow]) -> list[nursery_pb2.RoutingPeriod]:
    """Routing of unstamped babies."""
    return [
        nursery_pb2.RoutingPeriod(
            stream_id=str(row.stream_id),
            token_id=str(row.token_id),
            from_offset=row.from_offset,
            routing=convert.routing_message(row.routing),
        )
        for row in rows
    ]


def token_routing(
    tokens: Iterable[IngestToken],
) -> list[nursery_pb2.IngestTokenRoutingInfo]:
    """The current routing of tokens, empty for a revoked one."""
    messages = []
    for token in tokens:
        message = nursery_pb2.IngestTokenRoutingInfo(token_id=str(token.id))
        if token.revoked_at is None:
            message.traces_dataset_id = str(token.routing.traces or "")
            message.logs_dataset_id = str(token.routing.logs or "")
            message.metrics_dataset_id = str(token.routing.metrics or "")
        messages.append(message)
    return messages


def entry_refs(entries: Iterable[tuple[UUID, UUID]]) -> list[nursery_pb2.StreamDatasetRef]:
    """Names of (stream, dataset) entries."""
    return [
        nursery_pb2.StreamDatasetRef(stream_id=str(stream_id), dataset_id=str(dataset_id))
        for stream_id, dataset_id in entries
    ]


def offsets_only(info: nursery_pb2.IngestStreamInfo) -> nursery_pb2.IngestStreamInfo:
    """Id and merged offsets, for a registration whose full reply would pass the bound."""
    short = nursery_pb2.IngestStreamInfo(stream_id=info.stream_id)
    for entry in info.datasets:
        short.datasets.add(dataset_id=entry.dataset_id, merged_offset=entry.merged_offset)
    return short


def _stream(
    location: StoreLocation,
    row: StreamRow,
    datasets: Iterable[nursery_pb2.IngestStreamDatasetInfo],
    babies: Iterable[nursery_pb2.BabySegmentInfo],
    kept: Iterable[OffsetRange],
) -> nursery_pb2.IngestStreamInfo:
    return nursery_pb2.IngestStreamInfo(
        stream_id=str(row.id),
        cloud_stream_prefix=convert.stream_place(location, row.id),
        stopped_at_nanos=row.stopped_at_nanos,
        stopped_offset=row.stopped_offset,
        datasets=datasets,
        committed_offset=row.committed_offset,
        deleted_offset=row.deleted_offset,
        unmerged_babies=babies,
        last_activity_nanos=row.last_activity_nanos,
        collector_id=row.collector_id,
        principal=row.principal,
        reapable_offset=row.reapable_offset,
        awaits_reconcile=row.is_detached,
        kept_ranges=[
            nursery_pb2.KeptRange(first_offset=each.first, last_offset=each.last)
            for each in kept
            if each.last > row.deleted_offset and each.first <= row.reapable_offset
        ],
    )


def _entry(
    stream: StreamRow, row: EntryRow, prefix: common_pb2.CloudObjectPrefix
) -> nursery_pb2.IngestStreamDatasetInfo:
    return nursery_pb2.IngestStreamDatasetInfo(
        dataset_id=str(row.dataset_id),
        merged_offset=row.merged_offset,
        merged_ingest_time_nanos=row.merged_ingest_time_nanos,
        deleted_offset=stream.deleted_offset,
        deleted_ingest_time_nanos=stream.deleted_ingest_time_nanos,
        created_at_nanos=row.created_at_nanos,
        cloud_merged_segments_prefix=prefix,
        base_offset=row.base_offset if row.base_offset > stream.deleted_offset else None,
    )


def _clamp(value: int, most: int) -> int:
    return max(1, min(value, most))


def dataset_infos(
    tx: Transaction, stores: Stores, rows: Collection[Dataset]
) -> dict[str, common_pb2.DatasetInfo]:
    """Datasets with their layouts and windows, by id."""
    layouts = dataset_layouts.read(tx, [row.id for row in rows])
    columned = [row.id for row in rows if row.has_automatic_columns]
    automatic = automatic_columns.read_written(tx, columned)
    once = [row.key for row in rows if row.deduplication_rule is not None]
    windows = read_refused_outside(tx, once)
    infos = {
        row.id: convert.dataset_info(stores, row, layouts[row.id], windows.get(row.key))
        for row in rows
    }
    for dataset_id, columns in automatic.items():
        # Not by the names of the fields: a dataset may have a thousand, and a poll many datasets.
        infos[dataset_id].automatic_columns.extend(
            common_pb2.AutomaticColumn(
                attribute=column.attribute,
                type=common_pb2.KqlType.ValueType(column.type),
                field_id=column.field_id,
                written=column.written,
            )
            for column in columns
        )
    return {str(dataset_id): info for dataset_id, info in infos.items()}
