"""What meta says of the streams, as the planner takes it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from meta.v1 import common_pb2, nursery_pb2
from nursery.streams import BabyFacts, Period, Stream
from segments.parquet.schema import PromotedColumn, SegmentSpec
from segments.signals import TRAITS

_SCOPES = {
    common_pb2.ATTRIBUTE_SCOPE_RECORD: "record",
    common_pb2.ATTRIBUTE_SCOPE_RESOURCE: "resource",
    common_pb2.ATTRIBUTE_SCOPE_SCOPE: "scope",
}


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One stream: what the planner needs, and what ends it."""

    stream: Stream
    deleted_offset: int
    reapable_offset: int
    stopped_offset: int | None
    last_activity: int

    @property
    def stream_id(self) -> str:
        """Its id."""
        return self.stream.stream_id

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is committed to it."""
        return self.stopped_offset is not None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One poll's answer. `bucket` is where the objects are, unset while there are no streams."""

    streams: tuple[StreamInfo, ...]
    specs: Mapping[str, SegmentSpec]
    routed_dataset_ids: frozenset[str]
    bucket: common_pb2.CloudBucket | None


def read_snapshot(reply: nursery_pb2.GetIngestStreamsResponse) -> Snapshot:
    """Convert a reply; datasets that are gone have no spec."""
    periods: dict[str, list[Period]] = defaultdict(list)
    for period in reply.routing_history:
        periods[period.stream_id].append(_period(period))
    routed = {
        dataset_id
        for token in reply.token_routing
        for dataset_id in (*(getattr(token, row.routing_field) for row in TRAITS.values()),)
    }
    return Snapshot(
        streams=tuple(_stream(info, tuple(periods[info.stream_id])) for info in reply.streams),
        specs={dataset.id: _spec(dataset) for dataset in reply.datasets},
        routed_dataset_ids=frozenset(routed - {""}),
        bucket=reply.streams[0].cloud_stream_prefix.bucket if reply.streams else None,
    )


def _stream(info: nursery_pb2.IngestStreamInfo, periods: tuple[Period, ...]) -> StreamInfo:
    is_stopped = info.HasField("stopped_offset")
    stream = Stream(
        stream_id=info.stream_id,
        committed_offset=info.committed_offset,
        merged={entry.dataset_id: entry.merged_offset for entry in info.datasets},
        babies=tuple(
            BabyFacts(b.offset, b.size_bytes, b.committed_at_nanos, frozenset(b.dataset_ids))
            for b in info.unmerged_babies
        ),
        is_stopped=is_stopped,
        periods=periods,
    )
    return StreamInfo(
        stream=stream,
        deleted_offset=info.deleted_offset,
        reapable_offset=info.reapable_offset,
        stopped_offset=info.stopped_offset if is_stopped else None,
        last_activity=info.last_activity_nanos,
    )


def _period(period: nursery_pb2.RoutingPeriod) -> Period:
    routing = period.routing
    routes = {signal: getattr(routing, row.routing_field) for signal, row in TRAITS.items()}
    return Period(period.token_id, period.from_offset, {s: d for s, d in routes.items() if d})


def _spec(dataset: common_pb2.DatasetInfo) -> SegmentSpec:
    # As a merge sorts: else every merge would have to sort the nursery's files anew.
    heaviest_first = sorted(dataset.sharding_fields, key=lambda field: -field.weight)
    return SegmentSpec(
        sharding_fields=tuple(field.field_name for field in heaviest_first),
        promoted=tuple(
            PromotedColumn(
                column.name,
                common_pb2.KqlType.Name(column.type).removeprefix("KQL_TYPE_").lower(),
                _SCOPES[column.scope],
                column.attribute,
            )
            for column in dataset.promoted_columns
            if column.scope in _SCOPES and column.type != common_pb2.KQL_TYPE_DYNAMIC
        ),
    )
