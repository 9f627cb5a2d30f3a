"""Users read short paragraphs, in plain sentences and in the words of the glossary."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, pages
from tests.docs.references import PACKAGES
from tests.style.sentences import opens_with_question, questions, sentences

_ROW = re.compile(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
_METHODS = {"debug", "info", "warning", "error", "exception", "critical"}
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
EXCLUDED = _ROW.findall(GLOSSARY.partition("## Words that are not used")[2])
# They quote what is not used: in definitions, in examples, and as names of earlier releases.
QUOTING = ("docs/glossary.md", "docs/contributing/style.md", "CHANGELOG.md")
# Names of 0.1.0 that stay for a release.
KEPT = (
    *("segplane_janitor_chore_failures_total", "segplane_janitor_chore_seconds", "`chore`"),
    # The label in an alert.
    "installation, chore",
    *("chore_failed", "META_BEAT_LEASE_SECS"),
)
# Records keep their text.
RECORDS = ("CHANGELOG.md", "docs/adr/", "docs/releases/")
PARAGRAPH_WORDS_MAX = 90
PARAGRAPH_SEMICOLONS_MAX = 2
_CODE = re.compile(r"`[^`]+`")
_COMMENT = re.compile(r"(?:^[ \t]*//.*\n)+", re.MULTILINE)

# Names that others gave.
OF_OTHERS = (
    *("Azure Blob Storage", "azure-blob-storage", "azure-storage-blob"),
    *("Storage Blob Data", "Storage Blob Delegator"),
)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Texts to search, by name."""
    read = (page for page in pages() if page.name not in QUOTING)
    found = {page.name: page.text for page in read if not page.name.startswith(RECORDS)}
    found |= {str(path.relative_to(ROOT)): path.read_text() for path in _protos()}
    found |= {f"help of {path.stem}": "\n".join(_strings(path)) for path in _commands()}
    found["names of log events"] = "\n".join(_log_events()).replace("_", " ")
    return found


def test_the_glossary_lists_words_that_are_not_used() -> None:
    assert len(EXCLUDED) >= 10
    assert len(set(EXCLUDED)) == len(EXCLUDED)


def test_there_are_texts_of_every_kind(texts: dict[str, str]) -> None:
    assert {"README.md", "docs/contract.md", "protos/meta/v1/operations.proto"} <= texts.keys()
    assert "Dataset name" in texts["help of options"]
    assert "meta started" in texts["names of log events"]


@pytest.mark.parametrize("word", EXCLUDED)
def test_a_word_that_is_not_used_appears_nowhere(word: str, texts: dict[str, str]) -> None:
    pattern = re.compile(rf"\b{re.escape(word)}\b".replace(r"\ ", r"\s+"), re.IGNORECASE)

    assert {name: hits for name, text in texts.items() if (hits := _hits(pattern, text))} == {}


@pytest.fixture(scope="module")
def paragraphs() -> list[tuple[str, str]]:
    """Paragraphs of the pages, each with its page's name."""
    names = (page for page in pages() if not page.name.startswith(RECORDS))
    return [(page.name, text) for page in names for text in page.paragraphs()]


def test_a_paragraph_is_short(paragraphs: list[tuple[str, str]]) -> None:
    assert len(paragraphs) > 1000
    assert [(name, text) for name, text in paragraphs if _is_long(text)] == []


def test_a_paragraph_does_not_open_with_a_question_word(paragraphs: list[tuple[str, str]]) -> None:
    opening = [(name, sentences(text)[0]) for name, text in paragraphs]

    assert [(name, text) for name, text in opening if opens_with_question(text)] == []


def test_no_sentence_of_protos_and_help_opens_with_a_question_word() -> None:
    texts = [(path.name, text) for path in _protos() for text in _comments(path.read_text())]
    texts += [(path.name, text) for path in _commands() for text in _strings(path)]

    assert len(texts) > 1000
    assert [(name, found) for name, text in texts if (found := questions(text))] == []


def test_no_comment_of_makefiles_and_projects_opens_with_a_question_word() -> None:
    paths = ("Makefile", "pyproject.toml", "distributions/server/pyproject.toml", ".ci/run")
    lines = [(path, line) for path in paths for line in (ROOT / path).read_text().splitlines()]
    comments = [(path, line.strip("# ")) for path, line in lines if line.lstrip().startswith("#")]

    assert len(comments) > 50
    assert [(path, text) for path, text in comments if opens_with_question(text)] == []


def _is_long(text: str) -> bool:
    words, semicolons = len(text.split()), _CODE.sub("", text).count(";")
    return words > PARAGRAPH_WORDS_MAX or semicolons > PARAGRAPH_SEMICOLONS_MAX


def _comments(proto: str) -> Iterator[str]:
    for lines in _COMMENT.finditer(proto):
        yield " ".join(line.strip().removeprefix("//") for line in lines[0].splitlines())


def _hits(pattern: re.Pattern[str], text: str) -> list[str]:
    for name in (*OF_OTHERS, *KEPT, *(kept.replace("_", " ") for kept in KEPT)):
        text = text.replace(name, "")
    return [text[max(0, hit.start() - 40) : hit.end() + 20] for hit in pattern.finditer(text)]


def _protos() -> Iterator[Path]:
    yield from sorted((ROOT / "protos").rglob("*.proto"))


def _commands() -> Iterator[Path]:
    yield from sorted((ROOT / "segplane" / "cli").rglob("*.py"))
    yield ROOT / "segplane" / "__main__.py"


def _strings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _log_events() -> Iterator[str]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and _is_logging(node):
                    yield from _first_text(node)


def _is_logging(call: ast.Call) -> bool:
    method = call.func
    return (
        isinstance(method, ast.Attribute)
        and method.attr in _METHODS
        and isinstance(method.value, ast.Name)
        and method.value.id in {"log", "logger", "_log"}
    )


def _first_text(call: ast.Call) -> Iterator[str]:
    if call.args and isinstance(call.args[0], ast.Constant):
        yield str(call.args[0].value)
