"""One figure per line: ours, the reference, their ratio, the bar, and whether it holds."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results.json"


@dataclass(frozen=True, slots=True)
class Result:
    """A measured ratio; `bar` 0 = reported beside the others, not judged."""

    name: str
    ours: float
    reference: float
    reference_name: str
    unit: str
    ratio: float
    bar: float
    higher_is_better: bool
    holds: bool
    machine: str
    date: str


def compare(
    name: str,
    ours: float,
    reference: float,
    *,
    reference_name: str,
    unit: str,
    bar: float = 0.0,
    higher_is_better: bool = True,
) -> Result:
    """Judge `ours / reference` against `bar`: at least it, or at most it where lower is better."""
    ratio = ours / reference if reference else 0.0
    holds = bar == 0 or (ratio >= bar if higher_is_better else ratio <= bar)
    return Result(
        name=name,
        ours=_rounded(ours),
        reference=_rounded(reference),
        reference_name=reference_name,
        unit=unit,
        ratio=_rounded(ratio),
        bar=bar,
        higher_is_better=higher_is_better,
        holds=holds,
        machine=f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        date=datetime.now(UTC).date().isoformat(),
    )


def _rounded(value: float) -> float:
    """Four significant digits: more would be noise."""
    return float(f"{value:.4g}")


def load(path: Path = RESULTS) -> dict[str, Result]:
    """The committed results by name."""
    if not path.exists():
        return {}
    return {row["name"]: Result(**row) for row in json.loads(path.read_text())}


def save(new: Iterable[Result], path: Path = RESULTS) -> Sequence[Result]:
    """Replace the results of the same name, keep the others; returns all, by name."""
    merged = load(path) | {result.name: result for result in new}
    rows = [merged[name] for name in sorted(merged)]
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return rows


def table(results: Iterable[Result]) -> str:
    """The results as aligned text."""
    lines = [f"{'name':48} {'ours':>10} {'reference':>10} {'ratio':>8} {'bar':>8}  holds  against"]
    for r in results:
        bar = f"{'>=' if r.higher_is_better else '<='} {r.bar:g}" if r.bar else "-"
        verdict = "yes" if r.holds else "NO"
        lines.append(
            f"{r.name:48} {r.ours:>10g} {r.reference:>10g} {r.ratio:>8g} {bar:>8}  {verdict:5}"
            f"  {r.reference_name} ({r.unit})"
        )
    return "\n".join(lines)
