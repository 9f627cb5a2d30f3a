"""The plan of deletion as a page shows it: by day, by dataset, and what holds the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from meta.client import MetaClient
from meta.v1 import status_pb2 as pb
from segplane.health.deletions import (
    CAUSES,
    LATER_HOUR,
    DeletionForecast,
    obstacle_text,
    read_forecast,
    when,
)
from segplane.health.processes import span
from segplane.terminal.plain_text import size_text

DELETION_PATH = "/ui/deletion"
# A plan looks at all tombstoned segments.
PLAN_SECS = 60.0
ROWS_MAX = 200
_DAY_HOURS = 24
# The width of the longest bar, in the units of its SVG.
WIDTH = 1_000


@dataclass(frozen=True, slots=True)
class PlannedDay:
    """Segments that fall due within a day, of the rows that are listed."""

    name: str
    segments: int
    size_bytes: int
    width: int

    @property
    def size(self) -> str:
        """Return their bytes."""
        return size_text(self.size_bytes)


@dataclass(frozen=True, slots=True)
class DeletionRow:
    """One row of the plan in words: when or what holds it, of which dataset, how much."""

    dataset: str
    text: str
    cause: str
    segments: int
    size: str


@dataclass(frozen=True, slots=True)
class DeletionPage:
    """All that the page shows."""

    forecast: DeletionForecast
    days: Sequence[PlannedDay]
    planned: Sequence[DeletionRow]
    waiting: Sequence[DeletionRow]
    dataset: str

    @property
    def plan(self) -> pb.PlanDeletionResponse:
        """Return the plan of meta."""
        return self.forecast.plan


def read_deletion(client: MetaClient, dataset: str, *, has_owners: bool) -> DeletionPage:
    """Read and judge the plan of a dataset, or of all ("" = all). Raises MetaError.

    Without `has_owners` no pin names its owner, since people share the page.
    """
    forecast = read_forecast(client, dataset or None, ROWS_MAX)
    plan = forecast.plan
    for row in plan.waiting:
        if row.obstacle == pb.DELETION_OBSTACLE_PIN and not has_owners:
            row.holder = ""
    return DeletionPage(
        forecast,
        _days(plan),
        [
            DeletionRow(
                row.dataset_name,
                when(row.hour),
                CAUSES.get(row.cause, "unknown to this release"),
                row.segments,
                size_text(row.size_bytes),
            )
            for row in plan.planned
        ],
        [
            DeletionRow(
                row.dataset_name,
                obstacle_text(row),
                _end(row.until_nanos, plan.database_time_nanos),
                row.segments,
                size_text(row.size_bytes),
            )
            for row in plan.waiting
        ],
        dataset,
    )


def _end(until_nanos: int, now_nanos: int) -> str:
    if not until_nanos:
        return "until somebody ends it"
    return f"for {span(until_nanos - now_nanos)}" if until_nanos > now_nanos else "has ended"


def _days(plan: pb.PlanDeletionResponse) -> list[PlannedDay]:
    """Sum the listed rows up by day."""
    names = ["now", *(f"day {day}" for day in range(1, 8)), "later"]
    sums = {name: [0, 0] for name in names}
    for row in plan.planned:
        is_later = row.hour >= LATER_HOUR
        day = len(names) - 1 if is_later else -(-row.hour // _DAY_HOURS)
        sums[names[day]][0] += row.segments
        sums[names[day]][1] += row.size_bytes
    most = max(1, *(size_bytes for _, size_bytes in sums.values()))
    return [
        PlannedDay(name, segments, size_bytes, round(WIDTH * size_bytes / most))
        for name, (segments, size_bytes) in sums.items()
    ]
