"""Segments over time, before and after compaction, as text."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from rich.table import Table

from meta.v1 import common_pb2
from segplane.cli.output import size_text

BARS = "▁▂▃▄▅▆▇█"
BARS_PER_CELL_MAX = 40
DAY_NANOS = 86_400 * 1_000_000_000
Day = str


def draw(
    dataset: str,
    before: Iterable[common_pb2.SegmentInfo],
    after: Iterable[common_pb2.SegmentInfo],
) -> Table:
    """Draw one row a day of event time: a bar for each segment, as high as it is large."""
    old, new = _by_day(before), _by_day(after)
    largest = max((size for sizes in (*old.values(), *new.values()) for size in sizes), default=1)
    table = Table(title=f"segments of {dataset} by day of event time", title_justify="left")
    table.add_column("day")
    for when in ("before compaction", "after"):
        table.add_column(when)
        table.add_column("size", justify="right")
    for day in sorted(old.keys() | new.keys()):
        cells = [cell for days in (old, new) for cell in _cells(days.get(day, []), largest)]
        table.add_row(day, *cells)
    return table


def _cells(sizes: list[int], largest: int) -> tuple[str, str]:
    bars = "".join(BARS[min(len(BARS) - 1, size * len(BARS) // (largest + 1))] for size in sizes)
    if len(bars) > BARS_PER_CELL_MAX:
        bars = f"{bars[:BARS_PER_CELL_MAX]}..."
    return f"{bars} {len(sizes)}" if sizes else "", size_text(sum(sizes))


def _by_day(segments: Iterable[common_pb2.SegmentInfo]) -> dict[Day, list[int]]:
    days: defaultdict[Day, list[int]] = defaultdict(list)
    for segment in segments:
        first = segment.time_range.start_time // DAY_NANOS
        last = segment.time_range.end_time // DAY_NANOS
        day = _date(first) if first == last else "several days"
        days[day].append(segment.compressed_size_bytes)
    return dict(days)


def _date(day: int) -> Day:
    return f"{datetime.fromtimestamp(day * 86_400, UTC):%Y-%m-%d}"
