"""Rows of a result, read piece by piece as its query writes them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from segplane.gateway.queries.row_lines import CELL_CHARACTERS_MAX, Kind

ROWS_MAX = 1_000
# Of all cells together: wide results have fewer rows on the page.
CHARACTERS_MAX = 4 * 2**20
_SERIES_MAX = 8


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a value, cut if it is long; None is null."""

    text: str | None
    is_cut: bool = False


class RowReader:
    """Turns pieces of row lines into columns and rows, until the page is full."""

    def __init__(self) -> None:
        self.columns: Sequence[ResultColumn] | None = None
        self.all_columns = 0
        self.rows = 0
        # The result has more rows than the page.
        self.has_more = False
        self._characters = 0
        self._rest = b""

    def feed(self, piece: bytes) -> list[list[Cell]]:
        """Return the rows that a piece completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if self.columns is None and lines:
            self.all_columns, columns = json.loads(lines.pop(0))
            self.columns = [ResultColumn(name, kind) for name, kind in columns]
        rows = []
        for line in lines:
            if self.rows == ROWS_MAX or self._characters > CHARACTERS_MAX:
                self.has_more = True
                break
            rows.append([_cell(text) for text in json.loads(line)])
            self.rows += 1
            self._characters += len(line)
        return rows

    def chart(self) -> dict[str, str]:
        """Return the attributes of a table that can be drawn over time, {} if it cannot be.

        The first time is the axis, each number a line, and a single text names the lines.
        """
        kinds = [column.kind for column in self.columns or ()]
        numbers = [str(n) for n, kind in enumerate(kinds) if kind == "number"][:_SERIES_MAX]
        if "time" not in kinds or not numbers:
            return {}
        texts = [str(n) for n, kind in enumerate(kinds) if kind == "text"]
        series = texts[0] if len(texts) == 1 else ""
        return {"time": str(kinds.index("time")), "numbers": " ".join(numbers), "series": series}


def _cell(text: str | None) -> Cell:
    if text is None or len(text) <= CELL_CHARACTERS_MAX:
        return Cell(text)
    return Cell(text[:CELL_CHARACTERS_MAX], is_cut=True)
