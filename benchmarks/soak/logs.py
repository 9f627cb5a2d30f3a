"""Warnings and errors in the processes' logs."""

import json
from collections import Counter
from pathlib import Path

LEVELS = {"warning", "error", "critical"}


def count_warnings(log_dir: Path) -> list[tuple[str, int]]:
    """Warnings and worse by process and event, most frequent first."""
    counts: Counter[str] = Counter()
    for path in sorted(log_dir.glob("*.log*")):
        for line in path.read_text(errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("level") in LEVELS:
                counts[f"{path.stem} {entry['level']} {entry.get('event')}"] += 1
    return counts.most_common()
