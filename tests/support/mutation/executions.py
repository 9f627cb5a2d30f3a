"""The tests that run a line: read from the records of a run without a change."""

import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.support.mutation.narrow import narrow_tests

# The tests of a mutant take at most this without a change. The first always runs.
SECS_MAX = 4.0
# More cases of one parametrized test come after all other tests.
CASES_MAX = 3


@dataclass(frozen=True)
class Record:
    """A test that passed: its duration and, for each module of our areas, the lines it ran."""

    test: str
    secs: float
    lines: dict[str, frozenset[int]]


class Executions:
    """Chooses the tests of a mutant."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self._tree = tree
        records: list[Record] = []
        for file in sorted(folder.glob("*.jsonl")):
            for fields in map(json.loads, file.open()):
                if fields["passed"]:
                    lines = {path: frozenset(at) for path, at in fields["lines"].items()}
                    records.append(Record(fields["test"], fields["secs"], lines))
        self.secs = {record.test: record.secs for record in records}
        self._by_module: defaultdict[str, list[Record]] = defaultdict(list)
        for record in records:
            for path in record.lines:
                self._by_module[path].append(record)

    def tests_of(self, path: str, line: int) -> list[str]:
        """Give the tests that run a line, those that stay in its module most and are short first.

        A line that runs at import has none: it gets those of the function, class or module around
        it. Where these have none either, the tests of the files nearest to the module run.
        """
        for span in _spans(ast.parse((self._tree / path).read_text()), line):
            records = [r for r in self._by_module[path] if not r.lines[path].isdisjoint(span)]
            if records:
                return self._within_bounds(
                    [r.test for r in sorted(records, key=partial(_cost, path))]
                )
        near = narrow_tests(self._tree, path)
        tests = [test for file in near for test in self.secs if test.startswith(f"{file}::")]
        return self._within_bounds(tests)

    def _within_bounds(self, tests: list[str]) -> list[str]:
        cases: Counter[str] = Counter()
        first: list[str] = []
        rest: list[str] = []
        for test in tests:
            cases[test.partition("[")[0]] += 1
            (first if cases[test.partition("[")[0]] <= CASES_MAX else rest).append(test)
        chosen: list[str] = []
        left = SECS_MAX
        for test in first + rest:
            left -= self.secs[test]
            if left >= 0 or not chosen:
                chosen.append(test)
        return chosen


def _cost(path: str, record: Record) -> float:
    """Seconds that a test needs, divided by the share of its lines that are a module's."""
    all_lines = sum(len(lines) for lines in record.lines.values())
    return (record.secs + 0.01) * all_lines / len(record.lines[path])


def _spans(module: ast.Module, line: int) -> Iterator[range]:
    """Give the lines of the statement at a line, then of each scope around it, the module last."""
    around = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    innermost = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)
    if innermost is not None:
        body = getattr(innermost, "body", None)
        last = body[0].lineno - 1 if body else innermost.end_lineno or line
        if not isinstance(innermost, ast.FunctionDef | ast.ClassDef):
            yield range(innermost.lineno, max(last, innermost.lineno) + 1)
    for scope in reversed(around):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            # The line of `def` itself runs at import.
            yield range(scope.body[0].lineno, (scope.end_lineno or line) + 1)
        elif isinstance(scope, ast.ClassDef):
            yield range(scope.lineno, (scope.end_lineno or line) + 1)
    yield range(1, 100_000)
