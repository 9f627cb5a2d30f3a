"""Rows to messages and messages to rows, for the types that several services share."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache, partial
from uuid import UUID

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

from meta.errors import InvalidArgument, Unavailable
from meta.services.messages import checks, segment_facts
from meta.services.messages.deduplication_keys import deduplication_message
from meta.store.catalog.dataset_layouts import Layout, PromotedColumnRow, ShardingField
from meta.store.catalog.datasets import Dataset
from meta.store.segments.segments import NewSegment, SegmentRow
from meta.store.streams.stream_reads import BabyRow
from meta.store.streams.tokens import TokenRouting
from meta.v1 import common_pb2, ingest_token_pb2, nursery_pb2, segment_lookup_pb2
from segments.deduplication import EventWindow
from segments.keys import baby_prefix, join_key, merged_prefix, store_of
from segments.location import StoreLocation, Stores, StoreUnknown

# 3.5 MiB: gRPC clients by default receive at most 4 MiB.
REPLY_BYTES_MAX = 3_670_016


@lru_cache(maxsize=8)
def bucket(location: StoreLocation) -> common_pb2.CloudBucket:
    """The object store. The message is shared between calls: copy it, never change it."""
    return common_pb2.CloudBucket(**asdict(location))


def object_prefix(location: StoreLocation, prefix: str) -> common_pb2.CloudObjectPrefix:
    """A key prefix, without a slash at its end."""
    return common_pb2.CloudObjectPrefix(bucket=bucket(location), prefix=prefix.rstrip("/"))


def place_of(stores: Stores, prefix: str) -> StoreLocation:
    """The store of the objects below a prefix. Raises Unavailable if only other servers know it."""
    try:
        return stores.of_key(f"{prefix}/")
    except StoreUnknown as error:
        raise Unavailable(str(error)) from None


def merged_place(
    stores: Stores, dataset_id: object, store: str = ""
) -> common_pb2.CloudObjectPrefix:
    """The key prefix of a dataset's new merged segments."""
    prefix = merged_prefix(str(dataset_id), store)
    return object_prefix(place_of(stores, prefix), prefix)


def stream_place(location: StoreLocation, stream_id: object) -> common_pb2.CloudObjectPrefix:
    """The key prefix of a stream's baby segments."""
    return object_prefix(location, baby_prefix(str(stream_id)))


def object_key(stores: Stores, prefix: str, name: str) -> common_pb2.CloudObjectKey:
    """The key of one object."""
    bucket_prefix = object_prefix(place_of(stores, prefix), prefix)
    return common_pb2.CloudObjectKey(prefix=bucket_prefix, key=name)


def new_segment(stores: Stores, message: common_pb2.CreateSegment, field: str) -> NewSegment:
    """Check a new segment; its object must be under the prefix of its dataset."""
    dataset_id = checks.uuid(message.dataset_id, f"{field}.dataset_id")
    if not message.HasField("time_range"):
        raise InvalidArgument(f"{field} has no time_range", field=f"{field}.time_range")
    start_ns, end_ns = checks.closed_range(message.time_range, f"{field}.time_range")
    checks.count(start_ns, f"{field}.time_range.start_time")
    key, key_field = message.cloud_object_key, f"{field}.cloud_object_key"
    joined = full_key(stores, key, key_field)
    own_prefix = _merged_prefix(dataset_id)
    if not joined.startswith(own_prefix):
        raise InvalidArgument(f"{key_field} is {joined}, not under {own_prefix}", field=key_field)
    events = message.number_of_events
    facts = signals = format_version = None
    field_ids: tuple[int, ...] = ()
    if message.HasField("facts"):
        described, whole = message.facts, (events, start_ns, end_ns)
        signals, field_ids = segment_facts.check(described, whole, f"{field}.facts")
        facts = described.SerializeToString(deterministic=True)
        format_version = described.format_version
    return NewSegment(
        dataset_id,
        start_ns,
        end_ns,
        checks.size(message.size_bytes, f"{field}.size_bytes"),
        checks.size(message.compressed_size_bytes, f"{field}.compressed_size_bytes"),
        checks.count(events, f"{field}.number_of_events", high=checks.EVENTS_MAX),
        key.prefix.prefix.strip("/"),
        key.key.strip("/"),
        joined,
        facts,
        signals or None,
        format_version,
        message.crc32c if message.HasField("crc32c") else None,
        field_ids,
        segment_facts.written(message, f"{field}.written_facts"),
    )


def new_segments(
    stores: Stores, messages: Sequence[common_pb2.CreateSegment], field: str, most: int
) -> list[NewSegment]:
    """Check new segments of different objects."""
    new = checks.each(messages, field, most, partial(new_segment, stores))
    checks.distinct([segment.object_key for segment in new], field)
    return new


# The same datasets come again and again.
@lru_cache(maxsize=16_384)
def _merged_prefix(dataset_id: UUID) -> str:
    return merged_prefix(str(dataset_id))


def full_key(stores: Stores, message: common_pb2.CloudObjectKey, field: str) -> str:
    """Join prefix and key, relative to the base path of the store, which the key must name."""
    prefix, name = message.prefix, message.key
    if not name:
        raise InvalidArgument(f"{field}.key must not be empty", field=f"{field}.key")
    try:
        key = join_key(prefix.prefix, name)
        location = stores.of_key(key)
    except (ValueError, StoreUnknown) as error:
        raise InvalidArgument(f"{field}: {error}", field=field) from None
    if prefix.HasField("bucket"):
        _check_bucket(location, prefix.bucket, f"{field}.prefix.bucket")
    return key


def segment_info(stores: Stores, segment: SegmentRow) -> common_pb2.SegmentInfo:
    """A registered segment."""
    holder = segment_lookup_pb2.GetSegmentsByIdsResponse()
    add_segments(holder.segments, stores, [segment])
    return holder.segments[0]


def add_segments(
    target: RepeatedCompositeFieldContainer[common_pb2.SegmentInfo],
    stores: Stores,
    segments: Iterable[SegmentRow],
) -> None:
    """Append registered segments.

    The fields that all segments of a dataset in one store share are parsed from one template: a
    page costs a fourth of building every message from nested constructors.
    """
    templates: dict[object, tuple[bytes, str]] = {}
    for segment in segments:
        table = segment.dataset_id, store_of(f"{segment.prefix}/")
        shared = templates.get(table)
        if shared is None:
            shared = templates[table] = _template(stores, segment)
        template, prefix = shared
        info = target.add()
        info.MergeFromString(template)
        info.id = segment.id
        times = info.time_range
        times.start_time = segment.start_ns
        times.end_time = segment.end_ns
        info.size_bytes = segment.size_bytes
        info.compressed_size_bytes = segment.compressed_size_bytes
        info.number_of_events = segment.number_of_events
        key = info.cloud_object_key
        key.key = segment.object_name
        # A dataset's segments from the nursery share a prefix; each merge output has its own.
        if segment.prefix != prefix:
            key.prefix.prefix = segment.prefix
        info.created_version = segment.created_version
        info.merge_count = segment.merge_count
        if segment.tombstone_version is not None:
            info.tombstone_version = segment.tombstone_version
        if segment.facts:
            info.facts.MergeFromString(segment.facts)
        if segment.foreign_file:
            info.foreign.MergeFromString(segment.foreign_file)
        if segment.crc32c is not None:
            info.crc32c = segment.crc32c


def _template(stores: Stores, segment: SegmentRow) -> tuple[bytes, str]:
    message = common_pb2.SegmentInfo(
        dataset_id=segment.dataset_id,
        time_range=common_pb2.TimeRange(),
        cloud_object_key=object_key(stores, segment.prefix, ""),
    )
    return message.SerializeToString(), segment.prefix


def dataset_info(
    stores: Stores, dataset: Dataset, layout: Layout, window: EventWindow | None = None
) -> common_pb2.DatasetInfo:
    """A dataset as the data plane needs it; `window` if it refuses events outside."""
    return common_pb2.DatasetInfo(
        id=str(dataset.id),
        name=dataset.name,
        cloud_object_prefix=merged_place(stores, dataset.id, dataset.store),
        sharding_fields=sharding_messages(layout.sharding_fields),
        promoted_columns=promoted_messages(layout.promoted_columns),
        deduplication=None
        if dataset.deduplication_rule is None
        else deduplication_message(dataset, window),
    )


def baby_info(row: BabyRow) -> nursery_pb2.BabySegmentInfo:
    """A committed baby segment."""
    return nursery_pb2.BabySegmentInfo(
        offset=row.offset,
        size_bytes=row.size_bytes,
        num_records=row.num_records,
        time_range=common_pb2.TimeRange(start_time=row.start_ns, end_time=row.end_ns),
        committed_at_nanos=row.committed_at_nanos,
        dataset_ids=[str(d) for d in row.dataset_ids or ()],
    )


def routing_message(routing: TokenRouting) -> ingest_token_pb2.IngestTokenRouting:
    """The datasets that a token's signals are routed to; "" = refused."""
    return ingest_token_pb2.IngestTokenRouting(
        logs_dataset_id=str(routing.logs or ""),
        traces_dataset_id=str(routing.traces or ""),
        metrics_dataset_id=str(routing.metrics or ""),
    )


def sharding_messages(fields: Sequence[ShardingField]) -> list[common_pb2.ShardingField]:
    """Sharding fields in stored order."""
    return [common_pb2.ShardingField(field_name=f.field_name, weight=f.weight) for f in fields]


def sharding_fields(
    messages: Sequence[common_pb2.ShardingField], field: str
) -> tuple[ShardingField, ...]:
    """Check sharding fields: named once each, weights finite and above 0."""
    checks.at_most(messages, field, 100)
    fields = []
    for index, message in enumerate(messages):
        at = f"{field}[{index}]"
        if not (math.isfinite(message.weight) and message.weight > 0):
            raise InvalidArgument(
                f"{at}.weight is {message.weight}, not finite and above 0", field=f"{at}.weight"
            )
        name = checks.name(message.field_name, f"{at}.field_name")
        fields.append(ShardingField(name, message.weight))
    checks.distinct([f.field_name for f in fields], field)
    return tuple(fields)


def promoted_messages(columns: Sequence[PromotedColumnRow]) -> list[common_pb2.PromotedColumn]:
    """Promoted columns in stored order."""
    return [
        common_pb2.PromotedColumn(
            name=c.name,
            type=common_pb2.KqlType.ValueType(c.kql_type),
            scope=common_pb2.AttributeScope.ValueType(c.scope),
            attribute=c.attribute,
            field_id=c.file_id,
            bound=c.is_bound,
            enforced=c.is_enforced,
            name_id=None if c.column_id is None else c.field_id,
        )
        for c in columns
    ]


def time_text(moment: datetime | None) -> str:
    """RFC 3339 in UTC with microseconds; "" for None."""
    if moment is None:
        return ""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def nanos_text(nanos: int) -> str:
    """RFC 3339 in UTC with microseconds, of nanoseconds since the unix epoch."""
    seconds, nanos_of_second = divmod(nanos, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return time_text(moment.replace(microsecond=nanos_of_second // 1_000))


def _check_bucket(location: StoreLocation, message: common_pb2.CloudBucket, field: str) -> None:
    """Refuse a store other than the configured one; empty fields are not compared."""
    expected = bucket(location)
    if message == expected:
        return
    for name in ("provider", "endpoint", "bucket", "region", "path"):
        value, configured = getattr(message, name), getattr(expected, name)
        if value and value != configured and value.strip("/") != configured.strip("/"):
            raise InvalidArgument(
                f"{field}.{name} is not the configured store's", field=f"{field}.{name}"
            )
