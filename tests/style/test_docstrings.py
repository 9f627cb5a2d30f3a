"""Docstrings, comments and names say what they mean (docs/contributing/style.md, Words)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.style.sentences import questions
from tests.style.test_sizes import ROOT, modules, tree

_QUESTION = re.compile(r"(Who|Whose|What|Which|Where|When|Why|How)\b")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# Lines of a comment that has its lines alone.
_COMMENT = re.compile(r"(?:^[ \t]*# .*\n)+", re.MULTILINE)
# Packages whose `__init__` shows how their modules work together.
CORE = (
    *("meta", "meta/client", "meta/commits", "meta/planning", "meta/rpc", "meta/server"),
    *(
        "meta/services",
        "meta/watches",
        "meta/store",
        "meta/store/catalog",
        "meta/store/deduplication",
    ),
    *("meta/store/deletion", "meta/store/engine", "meta/store/locks", "meta/store/lookup"),
    *("meta/store/merging", "meta/store/pins", "meta/store/recovery", "meta/store/registration"),
    *(
        "meta/store/streams",
        "meta/store/versions",
        "collector",
        "nursery",
        "merge_worker",
        "janitor",
    ),
    *("dataplane", "dataplane/babies", "segments", "segments/inventory", "segments/merging"),
    *("segments/otlp", "segments/parquet", "segments/rebuild", "segments/store"),
    *("segments/token_index", "kql", "kql/pushdown", "segplane/cli", "segplane/fsck"),
    *("segplane/gateway", "segplane/gateway/iceberg", "segplane/gateway/queries", "segplane/query"),
    *("segplane/read", "segplane/recovery", "segplane/stack"),
)
# Participles and adjectives without a noun. `left` is an operand: in `kql`, and beside `right`.
_NOT_NAMES = {
    *("one", "found", "wanted", "told"),
    *("own", "place", "known", "rest", "named", "left"),
}
# A name that programs read: a member of `catalog reconcile --json`.
_READ_NAMES = {("segplane/recovery/lost_segments.py", "left")}


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """Every module that people write, parsed."""
    return {path: tree(path) for path in modules()}


def test_no_docstring_begins_with_a_question(trees: dict[Path, ast.Module]) -> None:
    docstrings = {
        f"{path.relative_to(ROOT)}:{line}": text
        for path, module in trees.items()
        for line, text in _docstrings(module)
    }

    assert len(docstrings) > 1000
    assert {place: text for place, text in docstrings.items() if _QUESTION.match(text)} == {}


def test_no_sentence_of_code_opens_with_a_question_word(trees: dict[Path, ast.Module]) -> None:
    texts = [
        (f"{path.relative_to(ROOT)}:{line}", paragraph)
        for path, module in trees.items()
        if not _is_test(path)
        for line, text in (*_docstrings(module), *_comments(path.read_text()))
        for paragraph in text.split("\n\n")
    ]

    assert len(texts) > 5000
    assert [(place, found) for place, text in texts if (found := questions(text))] == []


def test_the_check_sees_a_question_word() -> None:
    source = "# What is read stays.\n# Whoever asks waits. Why?\nx = 1\n"

    assert [questions(text) for _, text in _comments(source)] == [
        ["What is read stays.", "Whoever asks waits."]
    ]


def test_every_core_package_has_a_picture(trees: dict[Path, ast.Module]) -> None:
    pictures = {
        name: "\n    " in (ast.get_docstring(trees[ROOT / name / "__init__.py"], clean=False) or "")
        for name in CORE
    }

    assert [name for name, has_picture in pictures.items() if not has_picture] == []


def test_variables_are_named_by_nouns(trees: dict[Path, ast.Module]) -> None:
    names = [
        (str(path.relative_to(ROOT)), name)
        for path, module in trees.items()
        if _is_product(path)
        for node in ast.walk(module)
        if isinstance(node, ast.Name | ast.arg) and (name := _bound(node)) in _NOT_NAMES
        if name != "left" or not (_is_of_kql(path) or "right" in path.read_text())
    ]

    assert set(names) == _READ_NAMES


def _is_of_kql(path: Path) -> bool:
    return path.is_relative_to(ROOT / "kql")


def _is_test(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tests")


def _is_product(path: Path) -> bool:
    return not _is_test(path) and not path.is_relative_to(ROOT / "benchmarks")


def _docstrings(module: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module):
        if isinstance(node, _DOCUMENTED) and (docstring := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), docstring


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for lines in _COMMENT.finditer(source):
        text = " ".join(line.strip().removeprefix("#") for line in lines[0].splitlines())
        yield source.count("\n", 0, lines.start()) + 1, text


def _bound(node: ast.Name | ast.arg) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node.ctx, ast.Store) else None
