"""Recorded figures of what engines read for each question, and the table of them in the docs."""

import json
import os
from pathlib import Path

Figures = dict[str, dict[str, int]]
RECORD = Path(__file__).with_name("engine_reads.json")
TRACE, LATE = "one trace in one hour", "late records of a day"
LARGE = "one trace in one hour of a large file"
# A size that grows by more, beside this many bytes, is a change that somebody should look at.
BYTES_RATIO_MAX, BYTES_SPARE = 1.2, 65_536
HEADER = (
    "| | One trace in one hour: files, row groups, kB | Late records of a day | All ten questions:"
    " footers, row groups, MB | One trace in a file of 9 MB: row groups, MB |",
    "|---|---|---|---|---|",
)


def recorded() -> dict[str, Figures]:
    """Return the figures by engine and question."""
    figures: dict[str, Figures] = json.loads(RECORD.read_text())
    return figures


def check_figures(engine: str, figures: Figures) -> None:
    """Compare figures with the recorded ones, or record them if SEGPLANE_RECORD_READS is set."""
    if "SEGPLANE_RECORD_READS" in os.environ:
        RECORD.write_text(json.dumps(recorded() | {engine: figures}, indent=1) + "\n")
    known = recorded()[engine]
    assert set(figures) == set(known)
    for question, read in figures.items():
        before = known[question]
        for name in ("objects", "footers", "row groups"):
            assert read[name] <= before[name], f"{question}: {read}, recorded {before}"
        bytes_max = BYTES_RATIO_MAX * before["bytes"] + BYTES_SPARE
        assert read["bytes"] <= bytes_max, f"{question}: {read}, recorded {before}"


def table() -> list[str]:
    """Return the lines of the table in docs/reading."""
    return [*HEADER, *(_row(engine, figures) for engine, figures in sorted(recorded().items()))]


def _row(engine: str, figures: Figures) -> str:
    ten = [read for question, read in figures.items() if question != LARGE]
    footers, groups, size = (
        sum(read[name] for read in ten) for name in ("footers", "row groups", "bytes")
    )
    large = figures.get(LARGE)
    shown = f"{large['row groups']}, {large['bytes'] / 1e6:.1f}" if large else "-"
    parts = (_small(figures[TRACE]), _small(figures[LATE]))
    whole = f"{footers}, {groups}, {size / 1e6:.1f}"
    return f"| {engine} | {' | '.join(parts)} | {whole} | {shown} |"


def _small(read: dict[str, int]) -> str:
    return f"{read['objects']}, {read['row groups']}, {read['bytes'] / 1e3:,.0f}"
