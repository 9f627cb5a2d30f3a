"""ExplainMergePlan: for each live segment, why it is or is not in a merge task."""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from meta.errors import NotFound
from meta.planning.planner import Candidate, DayKey, Eligibility, Policy, day_key, eligibilities
from meta.services.messages import checks, convert, cursors
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.services.server_parts import ServerParts
from meta.store.catalog import datasets
from meta.store.catalog.datasets import Dataset
from meta.store.engine.pool import Transaction
from meta.store.merging import explanations, merge_planning
from meta.store.merging.explanations import ExplainedRow
from meta.store.merging.merge_planning import DAY_NANOS, SegmentFilter
from meta.store.segments.segments import SegmentRow
from meta.v1 import operations_pb2 as pb

EXPLAINED_DEFAULT = 1_000
EXPLAINED_MAX = 10_000
_Explained: TypeAlias = tuple[ExplainedRow, "pb.MergeEligibility.ValueType", str]
_POSITION = struct.Struct(">16sq16s")


@dataclass(frozen=True, slots=True)
class _Place:
    """The last segment of a page: its dataset, start time and id."""

    dataset_id: UUID
    start_ns: int
    segment_id: UUID

    @classmethod
    def of(cls, row: ExplainedRow) -> "_Place":
        segment = row.segment
        return cls(UUID(segment.dataset_id), segment.start_ns, UUID(segment.id))

    @classmethod
    def decode(cls, cursor: str, name: str | None) -> "_Place | None":
        if not cursor:
            return None
        raw = cursors.decode(cursor, _POSITION.size, lambda raw: _bound_to(raw, name), "cursor")
        dataset_id, start_ns, segment_id = _POSITION.unpack(raw)
        return cls(UUID(bytes=dataset_id), start_ns, UUID(bytes=segment_id))

    def encode(self, name: str | None) -> str:
        raw = _POSITION.pack(self.dataset_id.bytes, self.start_ns, self.segment_id.bytes)
        return cursors.encode(raw, _bound_to(raw, name))


def _bound_to(position: bytes, name: str | None) -> bytes:
    return position + b"ExplainMergePlan" + ("" if name is None else f"/{name}").encode()


def explain_merge_plan(
    server: ServerParts, request: pb.ExplainMergePlanRequest
) -> pb.ExplainMergePlanResponse:
    """For each live segment, why it is or is not in a merge task; one page."""
    name = checks.filter_name(request, "dataset_name")
    most = checks.limit(request.limit, default=EXPLAINED_DEFAULT, most=EXPLAINED_MAX)
    segment_id = checks.filter_uuid(request, "segment_id")
    behind = _Place.decode(checks.text(request.cursor, "cursor"), name)
    policy = server.settings.merge_policy

    def work(tx: Transaction) -> list[_Explained]:
        if segment_id is not None:
            return _explain_segment(tx, segment_id, policy)
        return list(_explain(tx, _chosen(tx, name, behind), behind, most + 1, policy))

    explained = server.transactions.read(work)
    reply = pb.ExplainMergePlanResponse()
    size_bytes = 0
    for row, eligibility, reason in explained[:most]:
        explanation = pb.SegmentExplanation(
            segment=convert.segment_info(server.settings.stores, row.segment),
            eligibility=eligibility,
            task_id="" if row.task_id is None else str(row.task_id),
            reason=reason,
        )
        size_bytes += explanation.ByteSize() + 8
        if size_bytes > REPLY_BYTES_MAX:
            break
        reply.segments.append(explanation)
    if 0 < len(reply.segments) < len(explained):
        last, *_ = explained[len(reply.segments) - 1]
        reply.next_cursor = _Place.of(last).encode(name)
    return reply


def _chosen(tx: Transaction, name: str | None, behind: _Place | None) -> list[Dataset]:
    if name is not None:
        return [datasets.get(tx, name)]
    return [d for d in datasets.list_live(tx) if behind is None or d.id >= behind.dataset_id]


def _explain(
    tx: Transaction, chosen: list[Dataset], behind: _Place | None, most: int, policy: Policy
) -> Iterator[_Explained]:
    """Explain the segments of datasets, in order, behind a place, up to `most`."""
    now_ns = merge_planning.now_nanos(tx)
    for dataset in chosen:
        after = explanations.FIRST
        if behind is not None and behind.dataset_id == dataset.id:
            after = behind.start_ns, behind.segment_id
        rows = explanations.read(tx, dataset.key, most, after)
        if not rows:
            continue
        # A day is planned whole, so the window begins with the day of the page's first segment.
        first_ns = rows[0].segment.start_ns
        day_ns = max(merge_planning.INT64_MIN, first_ns - first_ns % DAY_NANOS)
        window = merge_planning.candidates(tx, dataset.key, SegmentFilter(), day_ns)
        candidates = [Candidate(*candidate) for candidate in window]
        yield from _explained(rows, candidates, policy, now_ns)
        most -= len(rows)
        if most <= 0:
            return


def _explain_segment(tx: Transaction, segment_id: UUID, policy: Policy) -> list[_Explained]:
    """Explain one live segment. Raises NotFound."""
    segment = explanations.find(tx, segment_id)
    if segment is None:
        raise NotFound("there is no such live segment", segment_id=segment_id)
    dataset_id, start_ns = segment
    # The largest id below its id.
    before = _Place(dataset_id, start_ns, UUID(int=max(0, segment_id.int - 1)))
    return list(_explain(tx, [datasets.get(tx, dataset_id)], before, 1, policy))


def _explained(
    rows: list[ExplainedRow], candidates: list[Candidate], policy: Policy, now_ns: int
) -> list[_Explained]:
    reasons = {
        str(candidate.segment_id): (candidate, eligibility)
        for candidate, eligibility in eligibilities(candidates, policy, now_ns)
    }
    day_counts = Counter(day_key(candidate) for candidate in candidates)
    explained: list[_Explained] = []
    for row in rows:
        if row.is_excluded:
            answer = (
                pb.MERGE_ELIGIBILITY_QUARANTINED,
                "a merge could not read it; release it to try again",
            )
        elif row.task_id is not None:
            answer = pb.MERGE_ELIGIBILITY_IN_TASK, "it is an input of an open task"
        elif row.segment.id in reasons:
            answer = _by_plan(*reasons[row.segment.id], day_counts, policy)
        else:
            answer = _not_mergeable(row.segment, policy)
        explained.append((row, *answer))
    return explained


def _by_plan(
    candidate: Candidate, eligibility: Eligibility, day_counts: Counter[DayKey], policy: Policy
) -> tuple[pb.MergeEligibility.ValueType, str]:
    if eligibility is Eligibility.ELIGIBLE:
        return pb.MERGE_ELIGIBILITY_ELIGIBLE, eligibility.value
    counted = f"its day has {day_counts[day_key(candidate)]} segments below the target size"
    quiet_secs = policy.quiet_nanos / 1e9
    if eligibility is Eligibility.DAY_NOT_QUIET:
        return (
            pb.MERGE_ELIGIBILITY_TOO_YOUNG,
            f"{counted}: more than {policy.files_quiet} are merged after {quiet_secs:g} s without"
            " a new one",
        )
    return (
        pb.MERGE_ELIGIBILITY_TIER_NOT_FULL,
        f"{counted}: more than"
        f" {policy.files_max} are merged, and after {quiet_secs:g} s without a new"
        f" one more than {policy.files_quiet}",
    )


def _not_mergeable(
    segment: SegmentRow, policy: Policy
) -> tuple[pb.MergeEligibility.ValueType, str]:
    if segment.compressed_size_bytes >= policy.target_bytes:
        return (
            pb.MERGE_ELIGIBILITY_LARGE_ENOUGH,
            f"{segment.compressed_size_bytes} bytes are not below {policy.target_bytes}",
        )
    return pb.MERGE_ELIGIBILITY_TIER_NOT_FULL, "older segments of its dataset come first"
