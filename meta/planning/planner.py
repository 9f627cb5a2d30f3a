"""The merge policy: chooses the segments of each merge task. Pure; times in nanoseconds.

Segments below the target size are grouped by dataset and UTC day, those of several days by the day
of their creation. Two bounds hold in each group:

- Files: a group with more than `files_max` segments is merged. A group to which nothing was added
  for `quiet_nanos` is closed: merged until at most `files_quiet` segments are left.
- Bytes: a merge writes at least `growth_min` times its largest input, so a byte is written at most
  1 + log(target / its first file) times to that base. A closing merge is exempt; it leaves the
  largest segments of its group alone.

Among the permitted merges the one whose output grows most over its largest input comes first: it
takes the fewest writes to the target size. Waiting until a group is full makes that growth large.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

DAY_NANOS = 86_400_000_000_000
HOUR_NANOS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Policy:
    """The figures of the policy. The index segments_small_index knows `target_bytes`."""

    files_max: int = 16
    files_quiet: int = 4
    quiet_nanos: int = HOUR_NANOS
    growth_min: float = 2.0
    inputs_max: int = 16
    # Fewest inputs of a merge that reaches the target size at once.
    full_inputs_min: int = 4
    target_bytes: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live segment that is in no task and not excluded from merging; its range is closed."""

    segment_id: UUID
    dataset_key: int
    start_ns: int
    end_ns: int
    created_ns: int
    compressed_size_bytes: int
    merge_count: int


@dataclass(frozen=True, slots=True)
class Group:
    """The inputs of one merge task, in order of time."""

    inputs: tuple[Candidate, ...]

    @property
    def merge_count(self) -> int:
        """Merges behind the output."""
        return 1 + max(candidate.merge_count for candidate in self.inputs)

    @property
    def size_bytes(self) -> int:
        """Compressed bytes of all inputs."""
        return sum(candidate.compressed_size_bytes for candidate in self.inputs)


class DayKey(NamedTuple):
    """The segments that are merged with one another: a dataset's of one UTC day.

    Segments of several days are apart from the others and counted by the day of their creation.
    """

    dataset_key: int
    is_one_day: bool
    day: int


class Eligibility(Enum):
    """Reason why a candidate is or is not in a group."""

    ELIGIBLE = "the next planning puts it in a task"
    DAY_NOT_QUIET = "its day is merged further once nothing was added to it for a while"
    FEW_SEGMENTS = "its day has few enough segments below the target size"
    LARGE_ENOUGH = "it is as large as the target"


def plan(candidates: Iterable[Candidate], policy: Policy, now_ns: int) -> tuple[Group, ...]:
    """Choose merge tasks; each candidate is in at most one group."""
    days = _by_day(candidates, policy)
    return tuple(group for key in sorted(days) for group in _plan_day(days[key], policy, now_ns))


def day_key(candidate: Candidate) -> DayKey:
    """The day that a segment is merged with."""
    first, last = candidate.start_ns // DAY_NANOS, candidate.end_ns // DAY_NANOS
    is_one_day = first == last
    day = first if is_one_day else candidate.created_ns // DAY_NANOS
    return DayKey(candidate.dataset_key, is_one_day, day)


def eligibilities(
    candidates: Sequence[Candidate], policy: Policy, now_ns: int
) -> tuple[tuple[Candidate, Eligibility], ...]:
    """Explain for each candidate why `plan` takes or leaves it."""
    planned = {c.segment_id for group in plan(candidates, policy, now_ns) for c in group.inputs}
    waiting = {
        key
        for key, segments in _by_day(candidates, policy).items()
        if len(segments) > policy.files_quiet and not _is_quiet(segments, policy, now_ns)
    }

    def eligibility(candidate: Candidate) -> Eligibility:
        if candidate.segment_id in planned:
            return Eligibility.ELIGIBLE
        if candidate.compressed_size_bytes >= policy.target_bytes:
            return Eligibility.LARGE_ENOUGH
        is_waiting = day_key(candidate) in waiting
        return Eligibility.DAY_NOT_QUIET if is_waiting else Eligibility.FEW_SEGMENTS

    return tuple((candidate, eligibility(candidate)) for candidate in candidates)


def _by_day(candidates: Iterable[Candidate], policy: Policy) -> dict[DayKey, list[Candidate]]:
    """The candidates below the target size, by the day that they are merged with."""
    days: dict[DayKey, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.compressed_size_bytes < policy.target_bytes:
            days.setdefault(day_key(candidate), []).append(candidate)
    return days


def _is_quiet(segments: Iterable[Candidate], policy: Policy, now_ns: int) -> bool:
    return now_ns - max(c.created_ns for c in segments) >= policy.quiet_nanos


def _plan_day(segments: list[Candidate], policy: Policy, now_ns: int) -> Iterator[Group]:
    """Choose the merges of one day."""
    is_quiet = _is_quiet(segments, policy, now_ns)
    if len(segments) <= (policy.files_quiet if is_quiet else policy.files_max):
        return
    remaining: list[Candidate] = []
    outputs_small = 0
    by_time = sorted(segments, key=_time_order)
    for _, tier in groupby(sorted(by_time, key=_size_tier), key=_size_tier):
        full, smaller = _full_groups(tier, policy)
        outputs_small += sum(group.size_bytes < policy.target_bytes for group in full)
        remaining += smaller
        yield from full
    remaining.sort(key=lambda c: (c.compressed_size_bytes, *_time_order(c)))
    files_max = policy.files_quiet if is_quiet else policy.files_max
    # The outputs of this planning are merged with one another in the next: they count as few.
    while (excess := len(remaining) + -(-outputs_small // policy.inputs_max) - files_max) > 0:
        inputs_min, growth_min = (excess + 1, 1.0) if is_quiet else (2, policy.growth_min)
        count = _best_prefix(remaining, inputs_min, growth_min, policy)
        if count < 2:
            return
        group = _group(remaining[:count])
        outputs_small += group.size_bytes < policy.target_bytes
        del remaining[:count]
        yield group


def _time_order(candidate: Candidate) -> tuple[int, UUID]:
    return candidate.start_ns, candidate.segment_id


def _size_tier(candidate: Candidate) -> int:
    """Segments of one tier differ in size by less than a factor of 2."""
    return candidate.compressed_size_bytes.bit_length()


def _full_groups(tier: Iterable[Candidate], policy: Policy) -> tuple[list[Group], list[Candidate]]:
    """Cut segments of about one size, in order of time, into merges that need not wait for more."""
    groups: list[Group] = []
    inputs: list[Candidate] = []
    size_bytes = 0
    for candidate in tier:
        inputs.append(candidate)
        size_bytes += candidate.compressed_size_bytes
        is_target = size_bytes >= policy.target_bytes and len(inputs) >= policy.full_inputs_min
        if is_target or len(inputs) == policy.inputs_max:
            groups.append(_group(inputs))
            inputs, size_bytes = [], 0
    return groups, inputs


def _best_prefix(
    segments: Sequence[Candidate], inputs_min: int, growth_min: float, policy: Policy
) -> int:
    """Count the smallest segments to merge; 0 if no merge grows enough.

    `segments` are in order of size. A merge ends with the segment that reaches the target, or with
    `inputs_max`, even if it then has fewer than `inputs_min` inputs.
    """
    size_bytes = 0
    best_count, best_growth = 0, growth_min
    last = min(len(segments), policy.inputs_max)
    for count, candidate in enumerate(segments[:last], start=1):
        # An empty size counts as a byte, so that growth is always defined.
        largest_bytes = max(candidate.compressed_size_bytes, 1)
        size_bytes += largest_bytes
        growth = size_bytes / largest_bytes
        is_last = count == last or size_bytes >= policy.target_bytes
        if growth >= best_growth and count >= 2 and (count >= inputs_min or is_last):
            best_count, best_growth = count, growth
        if size_bytes >= policy.target_bytes and count >= 2:
            break
    return best_count


def _group(inputs: Iterable[Candidate]) -> Group:
    return Group(tuple(sorted(inputs, key=_time_order)))
