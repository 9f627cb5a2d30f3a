"""A claimed merge task, converted from meta's message, and its outcome."""

from dataclasses import dataclass
from pathlib import Path

from dataplane.dataset_layout import read_layout
from meta.v1.common_pb2 import (
    FOREIGN_STATE_MAPPED,
    FOREIGN_STATE_UNREAD,
    FOREIGN_STATE_UNREADABLE,
    FOREIGN_STATE_UNSPECIFIED,
    CloudObjectKey,
    SegmentInfo,
)
from meta.v1.merge_task_pb2 import SegmentMergeTaskInfo
from segments.foreign.origin import FileOrigin
from segments.keys import join_key
from segments.location import Stores
from segments.merging.inputs import MergeInput
from segments.parquet.spec import SegmentSpec
from segments.parquet.upload import WrittenSegment

# Objects that readers skip are in no task; if one were, its merge would fail by its name.
_ORIGINS = {
    FOREIGN_STATE_UNSPECIFIED: FileOrigin.SEGMENT,
    FOREIGN_STATE_UNREAD: FileOrigin.UNREAD,
    FOREIGN_STATE_MAPPED: FileOrigin.MAPPED,
    FOREIGN_STATE_UNREADABLE: FileOrigin.UNREADABLE,
}


@dataclass(frozen=True, slots=True)
class ClaimedTask:
    """One claimed merge task; the output's key must begin with this attempt's `prefix`."""

    task_id: str
    attempt: int
    dataset_id: str
    inputs: tuple[MergeInput, ...]
    spec: SegmentSpec
    stores: Stores
    prefix: str
    producer: str
    work_dir: Path
    buffer_bytes_max: int
    outputs_max: int = 1

    @property
    def label(self) -> str:
        """Name of this attempt, for folders."""
        return f"{self.task_id}-{self.attempt}"


@dataclass(frozen=True, slots=True)
class Merged:
    """All outputs of a task, at least one, no UTC day in two of them."""

    outputs: tuple[WrittenSegment, ...]
    unconverted: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The task failed; `segment_id` names the input at fault, or is "" if none is.

    `is_deferred`: the inputs are fine, and a worker of another release may merge them.
    `is_proven`: a second read of the named input failed as well.
    """

    message: str
    segment_id: str = ""
    is_deferred: bool = False
    is_proven: bool = False


Outcome = Merged | Failed


def claimed_task(
    info: SegmentMergeTaskInfo,
    stores: Stores,
    producer: str,
    work_dir: Path,
    buffer_bytes_max: int,
) -> ClaimedTask:
    """Convert a claimed task; raises ValueError if it makes no sense.

    Raises UnknownLayout if only another release can merge it.
    """
    return ClaimedTask(
        info.task_id,
        info.attempt,
        info.dataset_id,
        tuple(map(_input, info.segments)),
        read_layout(info.sharding_fields, info.promoted_columns, automatic=info.automatic_columns),
        stores,
        info.cloud_object_prefix.prefix,
        producer,
        work_dir,
        buffer_bytes_max,
        info.outputs_max,
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
        FileOrigin.SEGMENT
        if segment.facts.format_version
        else _ORIGINS.get(segment.foreign.state, FileOrigin.SEGMENT),
        segment.foreign.time_column,
        segment.compressed_size_bytes,
    )
