"""The way of records through the catalog: from a commit or a segment to the rows that readers see.

LocateOffset --> committed, waiting
ListLineage  --> merged, compacted, rewritten, expired, visible
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from meta.client import MetaClient
from meta.v1 import operations_pb2
from meta.v1 import status_pb2 as pb
from segplane.terminal.plain_text import size_text

LIMIT_MAX = 1_000
_INPUTS_SHOWN = 3
_MILLI = 1_000_000


class LineageStep(StrEnum):
    """One step of records on their way."""

    COMMITTED = "committed"
    MERGED = "merged"
    EMPTY = "no records"
    SAVED = "saved"
    COMPACTED = "compacted"
    REWRITTEN = "rewritten"
    EXPIRED = "expired"
    WAITING = "waiting"
    VISIBLE = "visible"


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A step at a time of the database's clock; 0 and "" = not known, or there is none."""

    step: LineageStep
    at_nanos: int = 0
    version: int = 0
    dataset: str = ""
    segment: str = ""
    inputs: tuple[str, ...] = ()
    task: str = ""
    attempt: int = 0
    worker: str = ""
    claimed_at_nanos: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Steps in the order of their times, and of the version at which they were read."""

    subject: str
    version: int
    steps: Sequence[TracedStep]
    is_cut: bool

    @property
    def headline(self) -> str:
        """One line: how far the records have come."""
        steps = {step.step for step in self.steps}
        visible = sum(step.step is LineageStep.VISIBLE for step in self.steps)
        if visible:
            more = " or more" if self.is_cut else ""
            text = f"visible in {visible}{more} segment{'s' if visible > 1 or more else ''}"
        elif self.is_cut:
            text = "not all is listed, --limit shows more"
        elif LineageStep.EXPIRED in steps:
            text = "not visible any more"
        else:
            text = "not visible"
        waits = ", waits to be merged" if LineageStep.WAITING in steps else ""
        return f"{self.subject}: {text} at version {self.version}{waits}"


def trace_baby(client: MetaClient, stream_id: str, offset: int, limit: int = 0) -> Trace:
    """Follow the records of a baby segment. Raises MetaError."""
    located = client.operations.LocateOffset(
        operations_pb2.LocateOffsetRequest(stream_id=stream_id, offset=offset)
    )
    reply = client.status.ListLineage(
        pb.ListLineageRequest(stream_id=stream_id, offset=offset, limit=limit)
    )
    steps = [*_commit(located), *_lineage_steps(reply)]
    # Merged since the location was read, it is among the steps.
    merged = {each.dataset_id for each in reply.registrations}
    steps += (
        TracedStep(LineageStep.WAITING, dataset=location.dataset_id, detail="not merged yet")
        for location in located.locations
        if located.committed and not location.merged and location.dataset_id not in merged
    )
    return _trace(f"offset {offset} of stream {stream_id}", reply, steps)


def trace_segment(client: MetaClient, segment_id: str, limit: int = 0) -> Trace:
    """Follow the records of a segment back to streams and on to readers. Raises MetaError."""
    reply = client.status.ListLineage(pb.ListLineageRequest(segment_id=segment_id, limit=limit))
    return _trace(f"segment {segment_id}", reply, list(_lineage_steps(reply)))


def _trace(subject: str, reply: pb.ListLineageResponse, steps: list[TracedStep]) -> Trace:
    names = {each.dataset_id: each.dataset_name for each in reply.segments}
    order = list(LineageStep)

    def rank(step: TracedStep) -> tuple[int, int]:
        # A commit without a time is older than all that has one; the state of now is last.
        unknown = 0 if step.step is LineageStep.COMMITTED else reply.database_time_nanos
        return step.at_nanos or unknown, order.index(step.step)

    with_names = [
        replace(step, dataset=names.get(step.dataset, "") or step.dataset)
        for step in sorted(steps, key=rank)
    ]
    return Trace(subject, reply.version, with_names, reply.is_cut)


def _commit(located: operations_pb2.LocateOffsetResponse) -> Iterator[TracedStep]:
    if not located.committed:
        return
    baby = located.baby
    if not located.HasField("baby"):
        yield TracedStep(LineageStep.COMMITTED, detail="its row is no longer kept")
        return
    reaped = ", its object is deleted" if located.reaped else ""
    yield TracedStep(
        LineageStep.COMMITTED,
        baby.committed_at_nanos,
        detail=f"{_records(baby.num_records)}, {size_text(baby.size_bytes)}{reaped}",
    )


def _records(number: int) -> str:
    return f"{number:,} record{'s' * (number != 1)}"


def _lineage_steps(reply: pb.ListLineageResponse) -> Iterator[TracedStep]:
    firsts = set()
    for each in reply.registrations:
        firsts.add(each.segment_id)
        yield TracedStep(
            LineageStep.MERGED if each.segment_id else LineageStep.EMPTY,
            each.registered_at_nanos,
            each.version,
            each.dataset_id,
            each.segment_id,
            detail=f"offsets {each.first_offset} to {each.last_offset} of {each.stream_id}",
        )
    replaced = {input_id for segment in reply.segments for input_id in segment.input_ids}
    versions = {each.version for each in reply.registrations}
    for segment in reply.segments:
        if segment.input_ids or segment.HasField("merge"):
            yield _compaction(segment)
        elif segment.id not in firsts and segment.HasField("dataset_id"):
            # The further segments of a registration have its version.
            is_further = segment.created_version in versions
            step = LineageStep.MERGED if is_further else LineageStep.SAVED
            yield _of_row(segment, step, segment.created_at_nanos, segment.created_version)
        # Of a list that is cut, the segment that replaces this one may be missing.
        is_last = segment.id not in replaced and not reply.is_cut
        if segment.HasField("tombstone_version") and is_last:
            step, at_nanos = LineageStep.EXPIRED, segment.tombstone_at_nanos
            yield _of_row(segment, step, at_nanos, segment.tombstone_version)
        elif segment.HasField("dataset_id") and not segment.HasField("tombstone_version"):
            yield _of_row(segment, LineageStep.VISIBLE, 0, reply.version, _next_of(segment))


def _of_row(
    segment: pb.LineageSegment, step: LineageStep, at_nanos: int, version: int, more: str = ""
) -> TracedStep:
    size = size_text(segment.compressed_size_bytes)
    detail = f"{_records(segment.number_of_events)}, {size}{more}"
    return TracedStep(step, at_nanos, version, segment.dataset_id, segment.id, detail=detail)


def _next_of(segment: pb.LineageSegment) -> str:
    if segment.is_excluded:
        return ", excluded from merges"
    return f", in open task {segment.open_task_id}" if segment.open_task_id else ""


def _compaction(segment: pb.LineageSegment) -> TracedStep:
    merge = segment.merge
    inputs = tuple(segment.input_ids)
    step = LineageStep.REWRITTEN if merge.is_rewrite else LineageStep.COMPACTED
    shown = ", ".join(inputs[:_INPUTS_SHOWN]) + (", ..." if len(inputs) > _INPUTS_SHOWN else "")
    detail = f"{merge.segment_count} segments, of these {shown}" if shown else ""
    if not segment.HasField("merge"):
        detail = f"of {shown}; its task is no longer kept, or an operator replaced the segment"
    # The first 48 bits of an id are milliseconds.
    made_at_nanos = (int(segment.id.replace("-", ""), 16) >> 80) * _MILLI
    return TracedStep(
        step,
        merge.finished_at_nanos or segment.created_at_nanos or made_at_nanos,
        segment.created_version,
        segment.dataset_id,
        segment.id,
        inputs,
        merge.task_id,
        merge.attempt,
        merge.worker_id,
        merge.claimed_at_nanos,
        detail,
    )
