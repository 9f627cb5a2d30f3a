"""The merge policy: which segments form one merge task. Pure; times in nanoseconds.

Segments are grouped by dataset and UTC day, those that span days by the day of their creation.
Within a group, segments with the same number of merges behind them are merged together. Hours after
the end of the day, a final sweep merges the remaining small ones. Records are merged at most
`merges_max` times, so each byte is written at most `merges_max` + 1 times.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from operator import attrgetter
from uuid import UUID

DAY_NANOS = 86_400_000_000_000
HOUR_NANOS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Policy:
    """The parameters of the policy; the index segments_mergeable_index depends on two of them."""

    # The minimum of inputs by the number of merges behind them. Fresh segments are merged soon,
    # which helps readers; merged ones wait for more peers, which bounds write amplification.
    inputs_min: tuple[int, ...] = (4, 8, 8, 8)
    inputs_max: int = 16
    target_bytes: int = 256 * 1024 * 1024
    merges_max: int = 4
    sweep_after_nanos: int = 6 * HOUR_NANOS


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live segment, in no task and not quarantined; both ends of its range are inclusive."""

    segment_id: UUID
    dataset_key: int
    start_ns: int
    end_ns: int
    created_ns: int
    compressed_size_bytes: int
    merge_count: int


@dataclass(frozen=True, slots=True)
class Group:
    """The inputs of one merge task, by start time."""

    inputs: tuple[Candidate, ...]

    @property
    def merge_count(self) -> int:
        """Merges behind the output."""
        return 1 + max(candidate.merge_count for candidate in self.inputs)


@dataclass(frozen=True, slots=True)
class Tier:
    """Segments that may be merged together: one dataset, one day, the same number of merges.

    Segments that span days form tiers of their own, by the day of their creation.
    """

    dataset_key: int
    is_one_day: bool
    day: int
    merge_count: int


class Eligibility(Enum):
    """Why a candidate is or is not in a group."""

    ELIGIBLE = "the next planning puts it in a task"
    TIER_NOT_FULL = "too few segments of its day and number of merges"
    AT_MAX_MERGES = "it was merged as often as the policy allows"
    LARGE_ENOUGH = "it is as large as the target"


def plan(candidates: Iterable[Candidate], policy: Policy, now_ns: int) -> tuple[Group, ...]:
    """Choose merge tasks; each candidate is in at most one group."""
    mergeable = sorted((c for c in candidates if _is_mergeable(c, policy)), key=_order)
    groups: list[Group] = []
    for (_, day), of_day in groupby(mergeable, key=_day_key):
        peers = sorted(of_day, key=lambda c: (c.merge_count, c.start_ns, c.segment_id))
        left: list[Candidate] = []
        for merge_count, tier in groupby(peers, key=attrgetter("merge_count")):
            full, rest = _fill(list(tier), policy.inputs_min[merge_count], policy)
            groups += full
            left += rest
        if now_ns >= (day + 1) * DAY_NANOS + policy.sweep_after_nanos:
            left.sort(key=lambda c: (c.start_ns, c.segment_id))
            groups += _fill(left, 2, policy)[0]
    return tuple(groups)


def tier_of(candidate: Candidate) -> Tier:
    """The tier that a segment waits in."""
    (dataset_key, is_one_day), day = _day_key(candidate)
    return Tier(dataset_key, is_one_day, day, candidate.merge_count)


def eligibilities(
    candidates: Sequence[Candidate], policy: Policy, now_ns: int
) -> tuple[tuple[Candidate, Eligibility], ...]:
    """For each candidate, why `plan` chooses it or not."""
    taken = {c.segment_id for group in plan(candidates, policy, now_ns) for c in group.inputs}
    return tuple((c, _eligibility(c, taken, policy)) for c in candidates)


def _eligibility(candidate: Candidate, taken: set[UUID], policy: Policy) -> Eligibility:
    if candidate.segment_id in taken:
        return Eligibility.ELIGIBLE
    if candidate.compressed_size_bytes >= policy.target_bytes:
        return Eligibility.LARGE_ENOUGH
    if candidate.merge_count >= policy.merges_max:
        return Eligibility.AT_MAX_MERGES
    return Eligibility.TIER_NOT_FULL


def _is_mergeable(candidate: Candidate, policy: Policy) -> bool:
    return (
        candidate.merge_count < policy.merges_max
        and candidate.compressed_size_bytes < policy.target_bytes
    )


def _day_key(candidate: Candidate) -> tuple[tuple[int, bool], int]:
    """Dataset and kind of group, and the day that must have ended before the final sweep."""
    first, last = candidate.start_ns // DAY_NANOS, candidate.end_ns // DAY_NANOS
    is_one_day = first == last
    day = first if is_one_day else candidate.created_ns // DAY_NANOS
    return (candidate.dataset_key, is_one_day), day


def _order(candidate: Candidate) -> tuple[tuple[tuple[int, bool], int], int, UUID]:
    return _day_key(candidate), candidate.start_ns, candidate.segment_id


def _fill(
    tier: list[Candidate], inputs_min: int, policy: Policy
) -> tuple[list[Group], list[Candidate]]:
    """Split a tier, by start time, into groups; returns the groups and the remainder."""
    groups: list[Group] = []
    inputs: list[Candidate] = []
    size_bytes = 0
    for candidate in tier:
        inputs.append(candidate)
        size_bytes += candidate.compressed_size_bytes
        is_large = size_bytes >= policy.target_bytes and len(inputs) >= min(4, inputs_min)
        if is_large or len(inputs) == policy.inputs_max:
            groups.append(Group(tuple(inputs)))
            inputs, size_bytes = [], 0
    if len(inputs) >= inputs_min:
        groups.append(Group(tuple(inputs)))
        inputs = []
    return groups, inputs
