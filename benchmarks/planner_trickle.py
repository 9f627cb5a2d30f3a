"""Bytes written of a dataset that gets a small segment every few seconds for a day.

The planner and its pace are those of `segplane dev`. Each proposal is merged at once. Nothing is
executed: a file has as many bytes as its records and its footer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from uuid import UUID

import janitor.config
import meta.config
from benchmarks.harness.results import Result, compare
from meta.planning.planner import DAY_NANOS, HOUR_NANOS, Candidate, Policy, plan
from meta.process.environment import Environment

FLUSH_SECS = (2, 10, 60)
# Compressed records in bytes a second; the last is 2 MB/s of OTLP.
RATES = (500, 5_000, 50_000, 300_000)
# Bytes of a file beyond its records: 40 log records are 8,496 bytes, 800 of them 46,871.
FILE_BYTES = 6_000
DAY_SECS = 86_400
# After the day's end it is quiet: its last merges are planned in these hours.
QUIET_HOURS = 3
NANOS = 1_000_000_000
# The bound of `planner_month_files_of_a_day`.
FILES_MAX = 24


@dataclass(frozen=True, slots=True)
class Pace:
    """The policy of merges, and the seconds between two plannings."""

    policy: Policy
    plan_secs: float


def run() -> list[Result]:
    """Simulate each flush time at each rate; the worst rate is judged."""
    results, files = [], 0
    for flush_secs in FLUSH_SECS:
        days = {rate: simulate(default_pace(), flush_secs, rate) for rate in RATES}
        for rate, day in days.items():
            print(
                f"  {flush_secs} s, {rate / 1e3:g} kB/s: {day.amplification:.2f} bytes a byte,"
                f" {day.files_max} files"
            )
        worst = max(days.values(), key=lambda day: day.amplification)
        files = max(files, *(day.files_max for day in days.values()))
        results.append(
            compare(
                f"planner_trickle_write_amplification_{flush_secs}_secs",
                worst.written_bytes / 1e9,
                worst.ingested_bytes / 1e9,
                reference_name=f"bytes that the nursery wrote, the worst of {len(RATES)} rates",
                unit="GB",
                bar=5.0,
                higher_is_better=False,
            )
        )
    bound = f"{FILES_MAX} files below 256 MiB, the worst of {len(FLUSH_SECS) * len(RATES)} loads"
    return [
        *results,
        compare(
            "planner_trickle_files",
            files,
            FILES_MAX,
            reference_name=bound,
            unit="files",
            bar=1.0,
            higher_is_better=False,
        ),
    ]


def default_pace() -> Pace:
    """Return the pace of servers with default settings."""
    values = {"META_DATABASE_URL": "postgresql:///none"}
    settings = meta.config.load(Environment("META_", values))
    plan_secs = janitor.config.load(Environment("JANITOR_", values)).merge_interval_secs
    return Pace(settings.merge_policy, plan_secs)


@dataclass(slots=True)
class TrickleDay:
    """One dataset: its segments below the target size, and what was counted, in bytes."""

    pace: Pace
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    live: dict[UUID, Candidate] = field(default_factory=dict)
    made: int = 0
    ingested_bytes: int = 0
    written_bytes: int = 0
    files_max: int = 0

    @property
    def amplification(self) -> float:
        """Bytes written per byte that the nursery wrote."""
        return self.written_bytes / self.ingested_bytes

    def ingest(self, records_bytes: float, at_ns: int) -> None:
        """Add a segment of the nursery."""
        size_bytes = int(records_bytes * self.rng.uniform(0.7, 1.3)) + FILE_BYTES
        self.ingested_bytes += size_bytes
        self._add(size_bytes, at_ns, at_ns, 0)

    def merge(self, now_ns: int) -> None:
        """Execute the proposals of the planner."""
        for group in plan(self.live.values(), self.pace.policy, now_ns):
            for candidate in group.inputs:
                del self.live[candidate.segment_id]
            # The output has one footer.
            size_bytes = group.size_bytes - FILE_BYTES * (len(group.inputs) - 1)
            self._add(size_bytes, group.inputs[0].start_ns, now_ns, group.merge_count)

    def _add(self, size_bytes: int, start_ns: int, now_ns: int, merge_count: int) -> None:
        self.written_bytes += size_bytes
        self.made += 1
        if size_bytes < self.pace.policy.target_bytes:
            segment_id = UUID(int=self.made)
            self.live[segment_id] = Candidate(
                segment_id, 1, start_ns, start_ns, now_ns, size_bytes, merge_count
            )


def simulate(pace: Pace, flush_secs: float, bytes_per_sec: float) -> TrickleDay:
    """Simulate a day with a segment every `flush_secs`, and the quiet hours after it."""
    day, flushed_secs = TrickleDay(pace), 0.0
    for planning in range(1, int(DAY_SECS / pace.plan_secs) + 1):
        now_secs = planning * pace.plan_secs
        # None at the day's very end, which is the next day.
        while flushed_secs + flush_secs <= min(now_secs, DAY_SECS - 1):
            flushed_secs += flush_secs
            day.ingest(flush_secs * bytes_per_sec, int(flushed_secs * NANOS))
        day.files_max = max(day.files_max, len(day.live))
        day.merge(int(now_secs * NANOS))
    for hour in range(1, QUIET_HOURS + 1):
        day.merge(DAY_NANOS + hour * HOUR_NANOS)
    return day
