"""The tables of docs/kql.md, from the catalog of operators and functions: `make gen`.

The page's prose is written by hand. Each table stands between the marks of its name.
"""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from kql import queries, scope
from kql.catalog.signatures import Function
from kql.catalog.table import FUNCTIONS, INFIX, OPERATORS, SYNONYMS
from kql.dataset_table import FORMAT_COLUMNS, WORDS
from kql.operators import constants, make_series
from kql.syntax import parser, tokens
from kql.types import TYPES, UNIT_NANOS
from tests.support.kql.engine_support import engines_of

_BOUNDS = {
    "characters of a text": tokens.TEXT_CHARACTERS_MAX,
    "tokens": tokens.TOKENS_MAX,
    "operators": parser.OPERATORS_MAX,
    "tables": parser.SOURCES_MAX,
    "datasets of groups that are read whole": scope.GROUP_DATASETS_MAX,
    "queries within expressions": scope.SUBQUERIES_MAX,
    "rows of datatable and range": constants.ROWS_MAX,
    "steps of make-series": make_series.POINTS_MAX,
    "levels of brackets, operators in a row": tokens.NESTING_MAX,
    "levels of expressions, with what let named": scope.LEVELS_MAX,
    "nested steps": queries.LEVELS_MAX,
}


def page(text: str) -> str:
    """Return the page with its tables as the catalog has them."""
    for name, write in _TABLES.items():
        mark = re.compile(f"(?<=<!-- {name} -->).*(?=<!-- /{name} -->)", re.DOTALL)
        text = mark.sub(write().replace("\\", r"\\"), text)
    return text


def _table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    lines = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows)
    border = "|---" * (head.count("|") + 1)
    return f"\n| {head} |\n{border}|\n" + "".join(f"| {line} |\n" for line in lines)


def _functions(*, are_aggregates: bool) -> str:
    functions = (f for f in FUNCTIONS.values() if f.is_aggregate is are_aggregates)
    return _table(
        "Function | Types | Result | Engines",
        ((f"`{f.name}`", _signatures(f), f.summary, engines_of(f.name)) for f in functions),
    )


def _signatures(function: Function) -> str:
    taken = (function.taken,) if function.taken else ()
    shown = [text.partition(":")[0].strip() for text in function.signatures or taken]
    return f"`{'; '.join(shown)}`" if shown else "any"


def _columns() -> str:
    names = {type_: [n for n, t in FORMAT_COLUMNS.items() if t == type_] for type_ in TYPES}
    rows = ((f"`{t}`", ", ".join(f"`{n}`" for n in items)) for t, items in names.items() if items)
    return _table("Type | Columns", rows)


_TABLES: dict[str, Callable[[], str]] = {
    "bounds": lambda: _table(
        "Bound | Value", ((f"most {name}", f"{value:,}") for name, value in _BOUNDS.items())
    ),
    "types": lambda: ", ".join(f"`{t}`" for t in TYPES),
    "units": lambda: ", ".join(sorted(UNIT_NANOS, key=lambda u: (UNIT_NANOS[u], len(u)))),
    "operators": lambda: _table(
        "Operator | What it does | In projections | Engines",
        (
            (o.syntax, o.summary, "yes" if o.is_row_by_row else "no", engines_of(o.name))
            for o in OPERATORS.values()
        ),
    ),
    "synonyms": lambda: ", ".join(f"`{name}` is `{of}`" for name, of in SYNONYMS.items()),
    "infix": lambda: _table(
        "Operator | Meaning",
        ((f"`{o.name}`", o.summary) for o in sorted(INFIX.values(), key=lambda o: o.precedence)),
    ),
    "functions": lambda: _functions(are_aggregates=False),
    "aggregates": lambda: _functions(are_aggregates=True),
    "words": lambda: (
        "".join(
            f"\n- `{name}` of `{source}`: {', '.join(words)}"
            for name, (source, words) in WORDS.items()
        )
        + "\n"
    ),
    "columns": _columns,
}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text()))
