"""docs/contract.md lists every reason that a caller can meet, and no other."""

import re
from pathlib import Path

from meta.client.failures import BY_REASON

CONTRACT = Path(__file__).parents[2] / "docs" / "contract.md"


def rows_of(heading: str, columns: int) -> list[list[str]]:
    """Read the cells of the table whose first line begins with `heading`."""
    text = CONTRACT.read_text()
    table = text[text.index(heading) :].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table]
    assert all(len(row) == columns and all(row) for row in rows), rows
    return rows


def test_every_reason_is_documented_with_its_code() -> None:
    rows = rows_of("| Reason | Code |", columns=4)

    assert len(rows) == len(BY_REASON)
    assert {row[0]: row[1] for row in rows} == {
        reason: error.code.name for reason, error in BY_REASON.items()
    }


def test_reasons_inside_replies_are_those_of_the_protos() -> None:
    protos = CONTRACT.parents[1] / "protos" / "meta" / "v1"
    declared = {
        (message, reason)
        for file in protos.glob("*.proto")
        for message, listed in re.findall(
            r"message (\w+)Error \{(?:(?!\n\}).)*?Machine-readable reason: (.*?)\.\n",
            file.read_text(),
            re.S,
        )
        for reason in re.findall(r"[A-Z_]{4,}", listed)
    }

    documented = {(row[1], row[0]) for row in rows_of("| Reason | In |", columns=4)}

    assert documented == declared
