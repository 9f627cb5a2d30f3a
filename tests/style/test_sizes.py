"""No module is over 300 lines and no function over 50 (docs/contributing/style.md, rule 1)."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE_LINES_MAX = 300
FUNCTION_LINES_MAX = 50
FOLDERS = (
    *("meta", "segments", "collector", "nursery", "merge_worker", "janitor", "segplane"),
    *("tests", "benchmarks"),
)
# Generated stubs; and migrations, which are SQL as the compiler writes it and never change.
EXCEPT = ("meta/v1/", "segments/v1/", "meta/migrations/versions/")


def modules() -> Iterator[Path]:
    """List the modules that people write."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not str(path.relative_to(ROOT)).startswith(EXCEPT):
                yield path


def test_no_module_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): _lines(path) for path in modules()}

    assert len(lengths) > 100
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES_MAX} == {}


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": _span(function)
        for path in modules()
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert len(lengths) > 1000
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX} == {}


def _lines(path: Path) -> int:
    return path.read_text().count("\n")


def _span(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1
