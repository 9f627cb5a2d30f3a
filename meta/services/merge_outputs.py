"""Checks of the outputs of a merge, and how many a task may have."""

from itertools import pairwise

from meta.errors import InvalidArgument
from meta.planner import DAY_NANOS
from meta.services import checks, convert
from meta.store.merge_tasks import MergeTaskRow, TaskKind
from meta.store.segments import NewSegment
from meta.v1 import merge_task_pb2
from segments.location import StoreLocation

OUTPUTS_MAX = 64


def checked_outputs(
    request: merge_task_pb2.CompleteSegmentMergeTaskRequest, location: StoreLocation
) -> tuple[NewSegment, ...]:
    """Check the outputs of a completion: one dataset, no key twice, no UTC day in two of them.

    Raises InvalidArgument.
    """
    named = [("merged_segment", request.merged_segment)]
    named += [(f"more_segments[{n}]", s) for n, s in enumerate(request.more_segments)]
    checks.at_most(request.more_segments, "more_segments", OUTPUTS_MAX - 1)
    outputs = tuple(convert.new_segment(location, segment, field) for field, segment in named)
    checks.distinct([output.object_key for output in outputs], "more_segments")
    if len({output.dataset_id for output in outputs}) > 1:
        raise InvalidArgument("the outputs are of several datasets", field="more_segments")
    for one, next_one in pairwise(sorted(outputs, key=lambda output: output.start_ns)):
        if next_one.start_ns // DAY_NANOS <= one.end_ns // DAY_NANOS:
            raise InvalidArgument(
                f"{one.object_key} and {next_one.object_key} share a UTC day",
                field="more_segments",
            )
    return outputs


def outputs_max(task: MergeTaskRow, worker_outputs_max: int) -> int:
    """Return how many outputs a worker may divide a task into: one, unless it merges several days.

    A rewrite keeps one file for one.
    """
    is_one_day = task.start_ns // DAY_NANOS == task.end_ns // DAY_NANOS
    if task.kind == TaskKind.REWRITE or is_one_day:
        return 1
    return max(1, min(OUTPUTS_MAX, worker_outputs_max))
