"""Draws results.json as one small SVG per group of figures, into docs/benchmarks.

`python -m benchmarks.harness.pictures` draws them all anew. A row shows ours and the reference, the
longer one at full width; the colour says whether the bar holds.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from benchmarks.harness.results import Result, load

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
GROUPS = {
    "merge": "Merging segments",
    "query": "Querying a segment with DuckDB",
    "format_2": "Format 2 against format 1",
    "planner": "Planning merges",
    "nursery": "Nursery",
    "collector": "Collector",
    "hostile": "A small sender beside a hostile one",
    "commit_offset": "Committing offsets",
    "register": "Registering merged segments",
    "poll": "Polling for merge tasks",
    "find_segments": "Finding segments",
    "secured": "Calls with TLS, roles and audit",
    "read": "Reading a dataset",
    "spark": "Reading a dataset with Spark",
    "freshness": "Freshness: from sent to visible",
    "soak": "Half an hour of steady load",
    "limit": "What the machine does without us",
    "server": "Memory of meta",
}
WIDTH, ROW, HEAD, BAR_LEFT, BAR_WIDTH = 960, 46, 40, 330, 360
GOOD, BAD, PLAIN, REFERENCE = "#1a7f5a", "#c0392b", "#3b6ea5", "#b8c0c8"


def draw(folder: Path = FOLDER) -> list[Path]:
    """Draw every group that has results; returns the files."""
    results = load().values()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for prefix, title in GROUPS.items():
        found = [result for result in results if result.name.startswith(f"{prefix}_")]
        if found:
            path = folder / f"{prefix}.svg"
            path.write_text(picture(title, found))
            drawn.append(path)
    return drawn


def picture(title: str, results: Sequence[Result]) -> str:
    """Draw one group."""
    height = HEAD + ROW * len(results) + 10
    rows = "".join(_row(result, HEAD + number * ROW) for number, result in enumerate(results))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n'
        f'<text x="10" y="24" font-size="16" font-weight="bold">{escape(title)}</text>\n'
        f"{rows}</svg>\n"
    )


def _row(result: Result, top: int) -> str:
    longest = max(result.ours, result.reference) or 1.0
    colour = (GOOD if result.holds else BAD) if result.bar else PLAIN
    name = result.name.replace("_", " ")
    sign = "≥" if result.higher_is_better else "≤"
    bar = f", bar {sign} {result.bar:g}" if result.bar else ""
    return "".join(
        (
            _text(10, top + 14, f"{name} ({result.unit.split(',')[0]})", "#222"),
            _text(10, top + 30, f"against {result.reference_name}"[:60], "#777", 10),
            _bar(top + 4, BAR_WIDTH * result.ours / longest, colour),
            _bar(top + 20, BAR_WIDTH * result.reference / longest, REFERENCE),
            _text(BAR_LEFT + BAR_WIDTH + 10, top + 14, f"{result.ours:g}", colour),
            _text(BAR_LEFT + BAR_WIDTH + 10, top + 30, f"{result.reference:g}", "#777"),
            _text(BAR_LEFT + BAR_WIDTH + 90, top + 22, f"ratio {result.ratio:g}{bar}", "#222"),
        )
    )


def _bar(top: int, width: float, colour: str) -> str:
    return (
        f'<rect x="{BAR_LEFT}" y="{top}" width="{max(1.0, width):.1f}" height="12"'
        f' fill="{colour}"/>\n'
    )


def _text(x: int, y: int, text: str, colour: str, size: int = 12) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}">{escape(text)}</text>\n'


if __name__ == "__main__":
    for path in draw():
        print(path)
