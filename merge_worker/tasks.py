"""A claimed merge task, converted from meta's message, and its outcome."""

from dataclasses import dataclass
from pathlib import Path

from meta.v1.common_pb2 import (
    AttributeScope,
    CloudObjectKey,
    KqlType,
    PromotedColumn,
    SegmentInfo,
    ShardingField,
)
from meta.v1.merge_task_pb2 import SegmentMergeTaskInfo
from segments.keys import join_key
from segments.location import StoreLocation
from segments.merging.merge import MergeInput
from segments.parquet import schema
from segments.parquet.footer import SegmentFacts

_KQL_NAMES = {
    KqlType.KQL_TYPE_BOOL: "bool",
    KqlType.KQL_TYPE_INT: "int",
    KqlType.KQL_TYPE_LONG: "long",
    KqlType.KQL_TYPE_REAL: "real",
    KqlType.KQL_TYPE_STRING: "string",
    KqlType.KQL_TYPE_DATETIME: "datetime",
    KqlType.KQL_TYPE_TIMESPAN: "timespan",
    KqlType.KQL_TYPE_GUID: "guid",
}
_SCOPE_NAMES = {
    AttributeScope.ATTRIBUTE_SCOPE_RECORD: "record",
    AttributeScope.ATTRIBUTE_SCOPE_RESOURCE: "resource",
    AttributeScope.ATTRIBUTE_SCOPE_SCOPE: "scope",
}


@dataclass(frozen=True, slots=True)
class ClaimedTask:
    """One claimed merge task; the output's key must begin with this attempt's `prefix`."""

    task_id: str
    attempt: int
    dataset_id: str
    inputs: tuple[MergeInput, ...]
    spec: schema.SegmentSpec
    location: StoreLocation
    prefix: str
    producer: str
    work_dir: Path
    buffer_bytes_max: int

    @property
    def label(self) -> str:
        """Name of this attempt, for folders."""
        return f"{self.task_id}-{self.attempt}"


@dataclass(frozen=True, slots=True)
class Merged:
    """The output is uploaded and verified."""

    key: str
    facts: SegmentFacts
    unconverted: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The task failed; `segment_id` names the input at fault, or is "" if none is."""

    message: str
    segment_id: str = ""


Outcome = Merged | Failed


def spec_of(sharding: list[ShardingField], promoted: list[PromotedColumn]) -> schema.SegmentSpec:
    """Read what the output shall look like; raises ValueError for a type this release lacks."""
    fields = sorted(sharding, key=lambda field: -field.weight)
    return schema.SegmentSpec(
        tuple(field.field_name for field in fields), tuple(map(_promoted, promoted))
    )


def claimed_task(
    info: SegmentMergeTaskInfo,
    location: StoreLocation,
    producer: str,
    work_dir: Path,
    buffer_bytes_max: int,
) -> ClaimedTask:
    """Convert a claimed task; raises ValueError if this release does not support it."""
    return ClaimedTask(
        info.task_id,
        info.attempt,
        info.dataset_id,
        tuple(map(_input, info.segments)),
        spec_of(list(info.sharding_fields), list(info.promoted_columns)),
        location,
        info.cloud_object_prefix.prefix,
        producer,
        work_dir,
        buffer_bytes_max,
    )


def full_key(key: CloudObjectKey) -> str:
    """Join a key of the wire into an object key."""
    return join_key(key.prefix.prefix, key.key)


def _input(segment: SegmentInfo) -> MergeInput:
    return MergeInput(
        segment.id,
        full_key(segment.cloud_object_key),
        segment.number_of_events,
        segment.time_range.start_time,
        segment.time_range.end_time,
    )


def _promoted(column: PromotedColumn) -> schema.PromotedColumn:
    type_, scope = _KQL_NAMES.get(column.type), _SCOPE_NAMES.get(column.scope)
    if type_ is None or scope is None:
        raise ValueError(
            f"promoted column {column.name} has type {column.type} and scope {column.scope}, "
            "which this release does not know"
        )
    return schema.PromotedColumn(column.name, type_, scope, column.attribute)
