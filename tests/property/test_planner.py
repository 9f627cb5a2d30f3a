"""Properties of the merge policy over generated candidates and over a simulated month."""

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meta.planner import (
    DAY_NANOS,
    HOUR_NANOS,
    Candidate,
    Eligibility,
    Group,
    Policy,
    eligibilities,
    plan,
)

POLICY = Policy()
MIB = 1024 * 1024
NOW = 30 * DAY_NANOS


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    """Segments of few datasets and days, so that groups fill."""
    count = draw(st.integers(0, 120))
    seed = draw(st.randoms(use_true_random=False))
    return [_candidate(number, seed) for number in range(count)]


def _candidate(number: int, rng: random.Random) -> Candidate:
    start = rng.choice((26, 28, 29)) * DAY_NANOS + rng.randrange(DAY_NANOS)
    span = rng.choice((0, 1, HOUR_NANOS, 2 * DAY_NANOS))
    return Candidate(
        segment_id=UUID(int=number + 1),
        dataset_key=rng.choice((1, 2)),
        start_ns=start,
        end_ns=start + span,
        created_ns=start + rng.randrange(DAY_NANOS),
        compressed_size_bytes=rng.choice((0, 10, MIB, 100 * MIB, 255 * MIB, 256 * MIB, 900 * MIB)),
        merge_count=rng.choice((0, 0, 0, 1, 2, 3, 4)),
    )


def _day(candidate: Candidate) -> tuple[bool, int]:
    if candidate.start_ns // DAY_NANOS == candidate.end_ns // DAY_NANOS:
        return True, candidate.start_ns // DAY_NANOS
    return False, candidate.created_ns // DAY_NANOS


@given(candidates())
def test_groups_are_disjoint_of_one_dataset_and_one_day(found: list[Candidate]) -> None:
    groups = plan(found, POLICY, NOW)

    used = Counter(c.segment_id for group in groups for c in group.inputs)
    assert not used or max(used.values()) == 1
    for group in groups:
        assert len({(c.dataset_key, _day(c)) for c in group.inputs}) == 1


@given(candidates())
def test_tasks_have_4_to_16_inputs_of_equal_merge_count_unless_swept(
    found: list[Candidate],
) -> None:
    for group in plan(found, POLICY, NOW):
        over = (_day(group.inputs[0])[1] + 1) * DAY_NANOS + POLICY.sweep_after_nanos <= NOW
        is_equal = len({c.merge_count for c in group.inputs}) == 1

        assert 2 <= len(group.inputs) <= 16
        assert over or (is_equal and len(group.inputs) >= 4)


@given(candidates())
def test_nothing_is_merged_that_is_large_or_merged_often_enough(found: list[Candidate]) -> None:
    for group in plan(found, POLICY, NOW):
        assert group.merge_count <= POLICY.merges_max
        assert all(c.compressed_size_bytes < POLICY.target_bytes for c in group.inputs)


@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(
    found: list[Candidate], rng: random.Random
) -> None:
    shuffled = list(found)
    rng.shuffle(shuffled)

    assert set(plan(shuffled, POLICY, NOW)) == set(plan(found, POLICY, NOW))


@given(candidates())
def test_a_verdict_says_eligible_exactly_for_what_is_planned(found: list[Candidate]) -> None:
    planned = {c.segment_id for group in plan(found, POLICY, NOW) for c in group.inputs}

    explained = eligibilities(found, POLICY, NOW)

    assert {c.segment_id for c, verdict in explained if verdict is Eligibility.ELIGIBLE} == planned
    assert [c for c, _ in explained] == found


@given(candidates())
def test_a_day_that_is_over_keeps_at_most_one_small_segment_that_may_be_merged(
    found: list[Candidate],
) -> None:
    much_later = NOW + 30 * DAY_NANOS
    taken = {c.segment_id for group in plan(found, POLICY, much_later) for c in group.inputs}

    left = Counter(
        (c.dataset_key, _day(c))
        for c in found
        if c.segment_id not in taken
        and c.merge_count < POLICY.merges_max
        and c.compressed_size_bytes < POLICY.target_bytes
    )
    assert not left or max(left.values()) == 1


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    segments_per_hour=st.sampled_from((1, 7, 60, 240)),
    size_bytes=st.sampled_from((10_000, MIB, 40 * MIB)),
    late_share=st.sampled_from((0.0, 0.05)),
)
def test_write_amplification_stays_at_most_5_over_a_month(
    seed: int, segments_per_hour: int, size_bytes: int, late_share: float
) -> None:
    month = _Month(random.Random(seed), late_share)

    for hour in range(30 * 24):
        month.ingest(hour, segments_per_hour, size_bytes)
        month.merge((hour + 1) * HOUR_NANOS)
    for hour in range(30 * 24, 32 * 24):
        month.merge(hour * HOUR_NANOS)

    assert month.written_bytes <= 5 * month.ingested_bytes
    assert sum(c.compressed_size_bytes for c in month.live.values()) == month.ingested_bytes


@pytest.mark.parametrize("segments_per_hour", [60, 3_600])
def test_a_day_of_small_segments_ends_as_few(segments_per_hour: int) -> None:
    month = _Month(random.Random(1), late_share=0.0)

    for hour in range(24):
        for minute in range(60):
            month.ingest(hour, segments_per_hour // 60, 1_000)
            month.merge(hour * HOUR_NANOS + (minute + 1) * (HOUR_NANOS // 60))
    for hour in range(24, 40):
        month.merge(hour * HOUR_NANOS)

    assert len(month.live) <= 40


class _Month:
    """A dataset's segments under ingest and merging."""

    def __init__(self, rng: random.Random, late_share: float) -> None:
        self.rng, self.late_share = rng, late_share
        self.live: dict[UUID, Candidate] = {}
        self.ingested_bytes = self.written_bytes = self.made = 0

    def ingest(self, hour: int, count: int, size_bytes: int) -> None:
        for _ in range(count):
            at = hour * HOUR_NANOS + self.rng.randrange(HOUR_NANOS)
            if self.rng.random() < self.late_share:
                at = max(0, at - self.rng.randrange(5 * DAY_NANOS))
            size = self.rng.randint(size_bytes // 2, size_bytes)
            self._add(at, at, at, size, 0)
            self.ingested_bytes += size

    def merge(self, now_ns: int) -> None:
        for group in plan(self.live.values(), POLICY, now_ns):
            self._swap(group, now_ns)

    def _swap(self, group: Group, now_ns: int) -> None:
        for candidate in group.inputs:
            del self.live[candidate.segment_id]
        self._add(
            min(c.start_ns for c in group.inputs),
            max(c.end_ns for c in group.inputs),
            now_ns,
            sum(c.compressed_size_bytes for c in group.inputs),
            group.merge_count,
        )

    def _add(self, start: int, end: int, created: int, size: int, merges: int) -> None:
        self.made += 1
        self.written_bytes += size
        made = Candidate(UUID(int=self.made), 1, start, end, created, size, merges)
        self.live[made.segment_id] = made
