"""Properties of the merge policy over generated candidates and over a simulated month."""

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import planner_trickle
from meta.planning.planner import (
    DAY_NANOS,
    HOUR_NANOS,
    Candidate,
    Eligibility,
    Group,
    Policy,
    eligibilities,
    plan,
)
from tests.support.examples import examples

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
def test_groups_are_disjoint_of_one_dataset_and_one_day(segments: list[Candidate]) -> None:
    groups = plan(segments, POLICY, NOW)

    uses = Counter(c.segment_id for group in groups for c in group.inputs)
    assert not uses or max(uses.values()) == 1
    for group in groups:
        assert len({(c.dataset_key, _day(c)) for c in group.inputs}) == 1


@given(candidates())
def test_tasks_have_2_to_16_inputs_below_the_target_in_order_of_time(
    segments: list[Candidate],
) -> None:
    for group in plan(segments, POLICY, NOW):
        starts = [c.start_ns for c in group.inputs]

        assert 2 <= len(group.inputs) <= 16
        assert starts == sorted(starts)
        assert all(c.compressed_size_bytes < POLICY.target_bytes for c in group.inputs)


@given(candidates())
def test_an_output_is_twice_its_largest_input_unless_its_day_is_quiet(
    segments: list[Candidate],
) -> None:
    newest: dict[object, int] = {}
    for c in segments:
        if c.compressed_size_bytes < POLICY.target_bytes:
            key = c.dataset_key, _day(c)
            newest[key] = max(newest.get(key, 0), c.created_ns)

    for group in plan(segments, POLICY, NOW):
        created = newest[group.inputs[0].dataset_key, _day(group.inputs[0])]
        largest = max(c.compressed_size_bytes for c in group.inputs)

        assert (
            group.size_bytes >= 2 * largest or largest <= 10 or NOW - created >= POLICY.quiet_nanos
        )


@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(
    found: list[Candidate], rng: random.Random
) -> None:
    shuffled = list(found)
    rng.shuffle(shuffled)

    assert set(plan(shuffled, POLICY, NOW)) == set(plan(found, POLICY, NOW))


@given(candidates())
def test_eligible_is_said_exactly_for_what_is_planned(segments: list[Candidate]) -> None:
    planned = {c.segment_id for group in plan(segments, POLICY, NOW) for c in group.inputs}

    explained = eligibilities(segments, POLICY, NOW)

    assert {
        c.segment_id for c, eligibility in explained if eligibility is Eligibility.ELIGIBLE
    } == planned
    assert [c for c, _ in explained] == segments


@given(candidates())
def test_a_quiet_day_keeps_at_most_4_segments_below_the_target(segments: list[Candidate]) -> None:
    live, now_ns = {c.segment_id: c for c in segments}, NOW + 30 * DAY_NANOS

    for made in range(1, 100):
        groups = plan(live.values(), POLICY, now_ns)
        if not groups:
            break
        for number, group in enumerate(groups):
            _swap(live, group, UUID(int=made * 1_000 + number), now_ns)
        now_ns += POLICY.quiet_nanos

    small = (c for c in live.values() if c.compressed_size_bytes < POLICY.target_bytes)
    assert max(Counter((c.dataset_key, _day(c)) for c in small).values(), default=0) <= 4


@given(st.lists(st.integers(1_000, POLICY.target_bytes - 1), max_size=60))
def test_a_busy_day_is_merged_until_its_sizes_double_from_one_to_the_next(
    sizes: list[int],
) -> None:
    live = {
        UUID(int=n): Candidate(UUID(int=n), 1, NOW + n, NOW + n, NOW + n, size, 0)
        for n, size in enumerate(sizes, start=1)
    }

    for made in range(1, 100):
        groups = plan(live.values(), POLICY, NOW + 100)
        if not groups:
            break
        for number, group in enumerate(groups):
            _swap(live, group, UUID(int=made * 1_000 + number), NOW + 100)

    left = sorted(c.compressed_size_bytes for c in live.values())
    small = [size for size in left if size < POLICY.target_bytes]
    # 1,000 bytes doubled 18 times is the target.
    assert len(small) <= 19


@pytest.mark.parametrize("frozen", [4, 9])
def test_small_segments_of_an_earlier_policy_are_merged_however_often_they_were(
    frozen: int,
) -> None:
    segments = [Candidate(UUID(int=n), 1, n, n, n, 10_000, frozen) for n in range(1, 1_729)]

    groups = plan(segments, POLICY, NOW)

    assert sum(len(group.inputs) for group in groups) >= 1_728 - 4


def test_a_growing_segment_is_not_rewritten_for_a_trickle() -> None:
    grown = Candidate(UUID(int=1), 1, NOW, NOW, NOW, 200 * MIB, 4)
    trickle = [Candidate(UUID(int=n), 1, NOW, NOW, NOW + n, 10_000, 0) for n in range(2, 18)]

    (group,) = plan([grown, *trickle], POLICY, NOW + 60)

    assert grown not in group.inputs


@settings(max_examples=examples(8), deadline=None)
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


@pytest.mark.parametrize(("flush_secs", "bytes_per_sec"), [(2, 50_000), (10, 5_000), (60, 5_000)])
def test_a_trickle_is_written_at_most_5_times_at_the_pace_of_dev(
    flush_secs: int, bytes_per_sec: int
) -> None:
    day = planner_trickle.simulate(planner_trickle.default_pace(), flush_secs, bytes_per_sec)

    assert day.written_bytes <= 5 * day.ingested_bytes
    assert day.files_max <= 24


@pytest.mark.parametrize("segments_per_hour", [60, 3_600])
def test_a_day_of_small_segments_ends_as_few(segments_per_hour: int) -> None:
    month = _Month(random.Random(1), late_share=0.0)

    for hour in range(24):
        for minute in range(60):
            month.ingest(hour, segments_per_hour // 60, 1_000)
            month.merge(hour * HOUR_NANOS + (minute + 1) * (HOUR_NANOS // 60))
    for hour in range(24, 40):
        month.merge(hour * HOUR_NANOS)

    assert len(month.live) <= 4


class _Month:
    """A dataset's segments under ingest and merging."""

    def __init__(self, rng: random.Random, late_share: float) -> None:
        self.rng, self.late_share = rng, late_share
        self.live: dict[UUID, Candidate] = {}
        self.ingested_bytes = self.written_bytes = self.made = 0

    def ingest(self, hour: int, count: int, size_bytes: int) -> None:
        for _ in range(count):
            at = created = hour * HOUR_NANOS + self.rng.randrange(HOUR_NANOS)
            if self.rng.random() < self.late_share:
                at = max(0, at - self.rng.randrange(5 * DAY_NANOS))
            size = self.rng.randint(size_bytes // 2, size_bytes)
            self.made += 1
            segment = Candidate(UUID(int=self.made), 1, at, at, created, size, 0)
            self.live[segment.segment_id] = segment
            self.written_bytes += size
            self.ingested_bytes += size

    def merge(self, now_ns: int) -> None:
        for group in plan(self.live.values(), POLICY, now_ns):
            self.made += 1
            self.written_bytes += group.size_bytes
            _swap(self.live, group, UUID(int=self.made), now_ns)


def _swap(live: dict[UUID, Candidate], group: Group, segment_id: UUID, now_ns: int) -> None:
    """Put a merge's output in the place of its inputs."""
    for candidate in group.inputs:
        del live[candidate.segment_id]
    live[segment_id] = Candidate(
        segment_id,
        group.inputs[0].dataset_key,
        min(c.start_ns for c in group.inputs),
        max(c.end_ns for c in group.inputs),
        now_ns,
        group.size_bytes,
        group.merge_count,
    )
