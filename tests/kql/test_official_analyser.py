"""Names and types of results are those that Kusto's own analyser gives, but for listed ones."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kql.queries import compile_query
from tests.kql.cases import AGGREGATES, SCALARS
from tests.kql.whole_queries import QUERIES
from tests.support.kql.rows import COLUMNS, TABLE

ANALYSER = Path(__file__).parents[3] / "build/tools/analyser"
# What the analyser refuses or names otherwise; docs/kql.md lists each, among its differences.
DIFFERENCES = {
    "rows | project x = s < 'H'": "texts have an order",
    "rows | summarize x = count(i)": "count takes a value",
    "rows | extend k = id * 2, m = k + 1 | project m | order by m asc": "extend sees new columns",
}
NAMES = [
    *(f"rows | project {case[0]}" for case in SCALARS if case[0] not in ("j.b", "s < 'H'")),
    *(f"rows | summarize {case[0]}" for case in AGGREGATES if case[0] != "count(i)"),
    "rows | summarize count() by bin(d, 1h), tolower(s), i + 1",
    "rows | summarize arg_max(d, not(b), i + 1)",
    "rows | summarize percentiles(r, 50, 99.9), x = percentiles(l, 5, 10)",
    "rows | summarize round(avg(i), 2), count() * 2, count(), count()",
    "rows | extend tolong(i), not(b), i = i + 1",
    "rows | project b and b, i + 1, (i), j['a b'].c",
    "rows | mv-expand j.c | mv-expand x = j.c to typeof(long)",
    "rows | join kind=leftouter rows on id | lookup (rows | project q = id, k = i)"
    " on $left.id == $right.q",
    "print now(), x = 1, 'a'",
]
TEXTS = [
    *(f"rows | project x = {case[0]}" for case in SCALARS),
    *(f"rows | summarize x = {case[0]}" for case in AGGREGATES),
    *(case[0] for case in QUERIES),
    *NAMES,
]


def test_names_and_types_are_those_of_the_official_analyser() -> None:
    if not (ANALYSER / ".ready").exists():
        pytest.skip("Kusto's analyser is not installed: make analyser")
    found = dict(zip(TEXTS, analysed(TEXTS), strict=True))

    different = {text for text in TEXTS if found[text].get("columns") != columns(text)}

    assert {text: found[text] for text in different - set(DIFFERENCES)} == {}
    assert different == set(DIFFERENCES)


def columns(text: str) -> list[list[str]]:
    """Return names and types as our checker gives them."""
    return [list(c) for c in compile_query(text, {"rows": TABLE}, 0).columns.items()]


def analysed(texts: list[str]) -> list[dict[str, list[list[str]]]]:
    """Return what the analyser gives, the table declared before each query."""
    node = shutil.which("node")
    assert node is not None
    declared = ", ".join(f"{name}: {type_}" for name, type_ in COLUMNS.items())
    table = f"let rows = datatable({declared})[];"
    reply = subprocess.run(
        [node, "analyse.js"],
        cwd=ANALYSER,
        input=json.dumps([table + text for text in texts]),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    result: list[dict[str, list[list[str]]]] = json.loads(reply.stdout)
    return result
