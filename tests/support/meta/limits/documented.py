"""The table of limits in docs/contract.md."""

import re
from dataclasses import dataclass
from pathlib import Path

CONTRACT = Path(__file__).parents[4] / "docs" / "contract.md"


@dataclass(frozen=True)
class Limit:
    """A row of the documentation."""

    name: str
    most: int
    beyond: str


def documented() -> dict[str, Limit]:
    """Read the rows, by name."""
    section = CONTRACT.read_text().partition("\n## Limits\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", section, re.MULTILINE)
    return {name: Limit(name, _number(most), beyond) for name, most, beyond in rows[1:]}


def _number(cell: str) -> int:
    power = re.fullmatch(r"2\^(\d+)( - 1)?", cell)
    if power:
        return int(2 ** int(power[1])) - (1 if power[2] else 0)
    return int(cell.replace(",", ""))
