"""Code lines of the product by package, against the budget in code_lines.toml: part of `make lint`.

A code line has a token that is neither a comment nor a part of a docstring. Generated stubs and
migrations are not counted, and neither are tests and benchmarks. `--write` writes the table anew.
"""

import ast
import io
import sys
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_suffix(".toml")
PRODUCT = (
    *("collector", "dataplane", "janitor", "kql", "merge_worker", "meta", "nursery"),
    *("pyspark_segplane", "segments", "segplane"),
)
# Packages so large that their parts have a line each.
DIVIDED = ("meta", "segments", "segplane")
EXCEPT = ("meta/v1/", "segments/v1/", "meta/migrations/versions/")
_SKIPPED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
_HEAD = """\
# Code lines of the product that a change may not exceed (`make lint`), by package.
# A change that needs more says in its ADR what it adds and why, and raises the number here.
# Density: neither lines a statement nor statements a function may rise.
"""


@dataclass(slots=True)
class Density:
    """Lines a statement and statements a function, of all code."""

    lines: int = 0
    statements: int = 0
    functions: int = 0
    in_functions: int = 0

    @property
    def lines_a_statement(self) -> float:
        return self.lines / self.statements

    @property
    def statements_a_function(self) -> float:
        return self.in_functions / self.functions


@dataclass(slots=True)
class Count:
    """Code lines by package, and the density of all."""

    lines: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    density: Density = field(default_factory=Density)


def count(root: Path = ROOT) -> Count:
    """Count the product below a folder."""
    total = Count()
    for path in _modules(root):
        source = path.read_text()
        tree = ast.parse(source)
        lines = len(_code_lines(source, tree))
        total.lines[_package(path.relative_to(root))] += lines
        total.density.lines += lines
        _add_statements(tree, total.density)
    return total


def excesses(counted: Count, table: dict[str, dict[str, float]]) -> list[str]:
    """Compare with the budget; gives a sentence for each line of it that is exceeded."""
    budget, density = table["lines"], table["density"]
    said = [
        f"{package} has {lines} code lines, its budget is {int(budget.get(package, 0))}"
        for package, lines in sorted(counted.lines.items())
        if lines > budget.get(package, 0)
    ]
    measured = counted.density
    if round(measured.lines_a_statement, 2) > density["lines_a_statement"]:
        said.append(f"{measured.lines_a_statement:.2f} lines a statement: they grew")
    if round(measured.statements_a_function, 2) > density["statements_a_function"]:
        said.append(f"{measured.statements_a_function:.2f} statements a function: they grew")
    return said


def main() -> int:
    """Check the budget, or write it."""
    counted = count()
    if sys.argv[1:] == ["--write"]:
        TABLE.write_text(_as_toml(counted))
    said = excesses(counted, tomllib.loads(TABLE.read_text()))
    print(*said, sep="\n", file=sys.stderr)
    print(f"{sum(counted.lines.values())} code lines in {len(counted.lines)} packages")
    return 1 if said else 0


def _modules(root: Path) -> Iterator[Path]:
    for name in PRODUCT:
        for path in sorted((root / name).rglob("*.py")):
            if not str(path.relative_to(root)).startswith(EXCEPT):
                yield path


def _package(path: Path) -> str:
    top, *rest = path.parts
    return f"{top}.{rest[0]}" if top in DIVIDED and len(rest) > 1 else top


def _code_lines(source: str, tree: ast.Module) -> set[int]:
    docstrings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _SKIPPED
        for line in range(token.start[0], token.end[0] + 1)
    }
    return lines - docstrings


def _add_statements(tree: ast.Module, density: Density) -> None:
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    density.statements += statements
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            density.functions += 1
            density.in_functions += sum(isinstance(inner, ast.stmt) for inner in ast.walk(node)) - 1


def _as_toml(counted: Count) -> str:
    rows = (f'"{package}" = {lines}' for package, lines in sorted(counted.lines.items()))
    density = counted.density
    return _HEAD + "\n".join(
        [
            "[density]",
            f"lines_a_statement = {density.lines_a_statement:.2f}",
            f"statements_a_function = {density.statements_a_function:.2f}",
            "",
            "[lines]",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
