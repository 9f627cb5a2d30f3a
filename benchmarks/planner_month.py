"""What is written of a dataset over a simulated month of the planner, per byte ingested.

One dataset: segments arrive all the time, one in twenty up to five days late, and each hour what
the planner proposes is merged. Nothing is executed: sizes add up.
"""

import random
from uuid import UUID

from benchmarks.harness.results import Result, compare
from meta.planner import DAY_NANOS, HOUR_NANOS, Candidate, Group, Policy, plan

HOURS = 30 * 24
HOURS_AFTER = 2 * 24
LATE_SHARE = 0.05
# Segments an hour and the largest size of each, in bytes: a quiet, a common and a busy dataset.
LOADS = ((7, 10_000), (60, 1 << 20), (60, 40 << 20))


def run() -> list[Result]:
    """Simulate each load; the worst is judged."""
    month = max((_simulate(*load) for load in LOADS), key=lambda found: found[0] / found[1])
    return [
        compare(
            "planner_month_write_amplification",
            month[0] / 1e9,
            month[1] / 1e9,
            reference_name=f"bytes ingested, the worst of {len(LOADS)} loads",
            unit="GB",
            bar=5.0,
            higher_is_better=False,
        )
    ]


def _simulate(segments_per_hour: int, size_bytes_max: int) -> tuple[int, int]:
    """Return the bytes that the nursery and merges wrote, and those that came in."""
    rng, policy = random.Random(11), Policy()
    live: dict[UUID, Candidate] = {}
    made = ingested = written = 0
    for hour in range(HOURS + HOURS_AFTER):
        for _ in range(segments_per_hour if hour < HOURS else 0):
            at = hour * HOUR_NANOS + rng.randrange(HOUR_NANOS)
            created = at
            if rng.random() < LATE_SHARE:
                at = max(0, at - rng.randrange(5 * DAY_NANOS))
            size = rng.randint(size_bytes_max // 2, size_bytes_max)
            # The nursery's own file counts as the first time that a byte is written.
            made, ingested, written = made + 1, ingested + size, written + size
            live[UUID(int=made)] = Candidate(UUID(int=made), 1, at, at, created, size, 0)
        for group in plan(live.values(), policy, (hour + 1) * HOUR_NANOS):
            made += 1
            merged = _merged(group, UUID(int=made), (hour + 1) * HOUR_NANOS)
            written += merged.compressed_size_bytes
            for candidate in group.inputs:
                del live[candidate.segment_id]
            live[merged.segment_id] = merged
    return written, ingested


def _merged(group: Group, segment_id: UUID, created_ns: int) -> Candidate:
    return Candidate(
        segment_id,
        1,
        min(c.start_ns for c in group.inputs),
        max(c.end_ns for c in group.inputs),
        created_ns,
        sum(c.compressed_size_bytes for c in group.inputs),
        group.merge_count,
    )
