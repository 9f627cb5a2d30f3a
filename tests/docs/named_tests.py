"""Tests that pages name, as functions or as files."""

import re
from functools import cache

from tests.docs.pages import ROOT

_NAMED = re.compile(r"`(test_\w+|tests/[\w/]+\.py)`")


def named_tests(text: str) -> list[str]:
    """The tests that a text names."""
    return _NAMED.findall(text)


def is_test(name: str) -> bool:
    """Whether a test function or a file has this name."""
    return name in _functions() or (ROOT / name).is_file()


@cache
def _functions() -> frozenset[str]:
    texts = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    return frozenset(name for text in texts for name in re.findall(r"def (test_\w+)\(", text))
