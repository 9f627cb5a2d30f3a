"""Bytes written of a dataset over a simulated month of the planner, and the files that it keeps.

One dataset: segments arrive all the time, one in twenty up to five days late; some loads add a
trickle of small segments into older days. Every five minutes what the planner proposes is merged.
Nothing is executed: sizes add up. Files are counted a day, those below the target size.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from benchmarks.harness.results import Result, compare
from meta.planning.planner import DAY_NANOS, HOUR_NANOS, Candidate, DayKey, Policy, day_key, plan
from segments.merging.day_merge import day_spans

STEP_NANOS = HOUR_NANOS // 12
DAYS = 30
# Nothing arrives in the last two days; after their first hours every day is quiet.
DAYS_AFTER = 2
LATE_SHARE = 0.05
LATE_NANOS_MAX = 5 * DAY_NANOS
# Files that a merge of several days leaves at most.
OUTPUTS_MAX = 64


@dataclass(frozen=True, slots=True)
class IngestLoad:
    """Segments an hour and their largest size in bytes; the same of a trickle, and its age."""

    per_hour: int
    size_bytes_max: int
    trickle_per_hour: int = 0
    trickle_bytes_max: int = 5_000
    trickle_days: tuple[int, ...] = (3,)
    # Files with a share of each of so many days before today, as a nursery writes late data.
    spread_per_hour: int = 0
    spread_bytes_max: int = 200_000
    spread_days: int = 0


# A quiet, a common and a busy dataset; then a trickle every 50 seconds into one old day and into
# five of them, beside a common and a quiet dataset, and one an hour. In the last late data of three
# weeks shares files, which merges divide by day.
LOADS = (
    IngestLoad(7, 10_000),
    IngestLoad(60, 1 << 20),
    IngestLoad(60, 40 << 20),
    IngestLoad(60, 1 << 20, 72),
    IngestLoad(60, 1 << 20, 72, trickle_days=(1, 2, 3, 4, 5)),
    IngestLoad(7, 10_000, 72),
    IngestLoad(7, 10_000, 1),
    IngestLoad(60, 1 << 20, spread_per_hour=12, spread_days=21),
)


def run() -> list[Result]:
    """Simulate each load; the worst is judged."""
    months = [_simulate(load) for load in LOADS]
    worst = max(months, key=lambda month: month.written_bytes / month.ingested_bytes)
    return [
        compare(
            "planner_month_write_amplification",
            worst.written_bytes / 1e9,
            worst.ingested_bytes / 1e9,
            reference_name=f"bytes ingested, the worst of {len(LOADS)} loads",
            unit="GB",
            bar=5.0,
            higher_is_better=False,
        ),
        _files("planner_month_files_of_a_day", max(m.files_max for m in months), 24),
        _files("planner_month_files_of_a_quiet_day", max(m.files_quiet for m in months), 4),
    ]


def _files(name: str, files: int, bound: int) -> Result:
    return compare(
        name,
        files,
        bound,
        reference_name=f"{bound} files below 256 MiB, the worst of {len(LOADS)} loads",
        unit="files",
        bar=1.0,
        higher_is_better=False,
    )


@dataclass(slots=True)
class _Month:
    """One dataset: its live segments below the target size, and what was counted."""

    rng: random.Random
    policy: Policy = field(default_factory=Policy)
    live: dict[UUID, Candidate] = field(default_factory=dict)
    # Bytes by day of what is live.
    days: dict[UUID, dict[int, int]] = field(default_factory=dict)
    # The time of the last arrival by group.
    arrivals: dict[DayKey, int] = field(default_factory=dict)
    made: int = 0
    ingested_bytes: int = 0
    written_bytes: int = 0
    files_max: int = 0
    files_quiet: int = 0

    def ingest(self, days: Sequence[int], now_ns: int, size_bytes_max: int) -> None:
        """Take one segment; the nursery's own file is the first time that a byte is written."""
        size_bytes = self.rng.randint(size_bytes_max // 2, size_bytes_max)
        self.ingested_bytes += size_bytes
        self.written_bytes += size_bytes
        self.add(dict.fromkeys(days, size_bytes // len(days)), now_ns, 0)

    def add(self, days: dict[int, int], now_ns: int, merge_count: int) -> None:
        """Add a segment with bytes of some days, unless it is as large as the target."""
        size_bytes = sum(days.values())
        if size_bytes >= self.policy.target_bytes:
            return
        self.made += 1
        segment_id = UUID(int=self.made)
        start_ns, end_ns = min(days) * DAY_NANOS, max(days) * DAY_NANOS
        candidate = Candidate(segment_id, 1, start_ns, end_ns, now_ns, size_bytes, merge_count)
        self.live[segment_id] = candidate
        self.days[segment_id] = days
        self.arrivals[day_key(candidate)] = now_ns

    def count_files(self, now_ns: int) -> None:
        """Note how many files a group has, and one that was quiet for an hour and a planning."""
        for key, files in Counter(map(day_key, self.live.values())).items():
            self.files_max = max(self.files_max, files)
            if now_ns - self.arrivals[key] > HOUR_NANOS + 2 * STEP_NANOS:
                self.files_quiet = max(self.files_quiet, files)

    def merge(self, now_ns: int) -> None:
        """Do what the planner proposes."""
        for group in plan(self.live.values(), self.policy, now_ns):
            self.written_bytes += group.size_bytes
            days = Counter[int]()
            for candidate in group.inputs:
                del self.live[candidate.segment_id]
                days.update(self.days.pop(candidate.segment_id))
            for span in day_spans(days, OUTPUTS_MAX):
                own = {day: n for day, n in days.items() if span.first <= day <= span.last}
                self.add(own, now_ns, group.merge_count)


def _simulate(load: IngestLoad) -> _Month:
    month = _Month(random.Random(11))
    due = trickle_due = spread_due = 0.0
    for now_ns in range(STEP_NANOS, (DAYS + DAYS_AFTER) * DAY_NANOS, STEP_NANOS):
        if now_ns <= DAYS * DAY_NANOS:
            due += load.per_hour / 12
            while due >= 1:
                due -= 1
                late_ns = month.rng.randrange(LATE_NANOS_MAX)
                is_late = month.rng.random() < LATE_SHARE
                event_ns = now_ns - month.rng.randrange(STEP_NANOS) - (late_ns if is_late else 0)
                month.ingest([max(0, event_ns) // DAY_NANOS], now_ns, load.size_bytes_max)
            trickle_due += load.trickle_per_hour / 12
            while trickle_due >= 1:
                trickle_due -= 1
                event_ns = now_ns - month.rng.choice(load.trickle_days) * DAY_NANOS
                if event_ns >= 0:
                    month.ingest([event_ns // DAY_NANOS], now_ns, load.trickle_bytes_max)
            spread_due += load.spread_per_hour / 12
            while spread_due >= 1:
                spread_due -= 1
                today = now_ns // DAY_NANOS
                days = range(today - load.spread_days, today)
                month.ingest(days, now_ns, load.spread_bytes_max)
        month.count_files(now_ns)
        month.merge(now_ns)
    return month
