"""Modules and functions can be read at once (docs/contributing/style.md, rule 1)."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE_LINES_MAX = 300
# Modules that are one thought and may have up to 400 lines; at most twelve, each with its thought.
ONE_THOUGHT = {
    "collector/otlp/json/export.py": "an export in JSON, and where it is damaged",
    "collector/streams/stream.py": "the writer of a stream and the recovery of its tail",
    "meta/store/pins/pins.py": "a pin: taken, renewed and released within limits and rights",
    "meta/store/segments/segments.py": "a segment's row and the message that it keeps",
    "segments/keys.py": "the key of every object, built and parsed",
    "kql/functions/arithmetic.py": "types of operators, and the conversions that they bring",
    "kql/functions/scalars.py": "an expression, checked against types",
    "kql/queries.py": "a query from its text to its checked pipeline",
}
ONE_THOUGHT_LINES_MAX = 400
ONE_THOUGHT_MAX = 12
FUNCTION_LINES_MAX = 50
PACKAGE_MODULES_MAX = 20
NOT_ROOMS = ("tests", "benchmarks")
FOLDERS = (
    *("meta", "segments", "collector", "nursery", "merge_worker", "janitor", "segplane"),
    *("kql", "dataplane"),
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


@cache
def tree(path: Path) -> ast.Module:
    """Parse a module, once for all tests of the style."""
    return ast.parse(path.read_text())


def test_no_module_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): _lines(path) for path in modules()}

    assert len(lengths) > 100
    assert {name: lines for name, lines in lengths.items() if lines > _lines_max(name)} == {}


def test_few_modules_are_longer_for_being_one_thought() -> None:
    longer = {name for name in ONE_THOUGHT if _lines(ROOT / name) > MODULE_LINES_MAX}

    assert longer == set(ONE_THOUGHT)
    assert len(ONE_THOUGHT) <= ONE_THOUGHT_MAX


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": _span(function)
        for path in modules()
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert len(lengths) > 1000
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX} == {}


def test_no_package_has_more_modules_side_by_side_than_a_reader_takes_in() -> None:
    numbers = Counter(
        str(path.parent.relative_to(ROOT))
        for path in modules()
        if path.name != "__init__.py" and path.relative_to(ROOT).parts[0] not in NOT_ROOMS
    )

    assert len(numbers) > 50
    crowded = {name for name, number in numbers.items() if number > PACKAGE_MODULES_MAX}
    assert crowded == set()


def _lines_max(name: str) -> int:
    return ONE_THOUGHT_LINES_MAX if name in ONE_THOUGHT else MODULE_LINES_MAX


def _lines(path: Path) -> int:
    return path.read_text().count("\n")


def _span(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1
