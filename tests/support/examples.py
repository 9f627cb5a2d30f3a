"""The number of examples of a property test, and of cases of a table."""

import os
from collections.abc import Sequence
from typing import Any

import pytest

# `make test-slow` and `make test-long` set it.
ALL_EXAMPLES = "ALL_EXAMPLES"


def examples(most: int) -> int:
    """A quarter of `most` examples, or all of them where the environment asks for a deep run."""
    return most if os.environ.get(ALL_EXAMPLES) else -(-most // 4)


def some_or_all(cases: Sequence[Any], every: int) -> list[Any]:
    """Return two parameters of a test: every so many cases, and all of them in `make test-long`."""
    return [
        pytest.param(cases[::every], id="some"),
        pytest.param(cases, id="all", marks=pytest.mark.long),
    ]


def some(cases: Sequence[Any], every: int) -> list[Any]:
    """Return cases as parameters; those between every so many run in `make test-long` alone."""
    return [
        pytest.param(*case, marks=() if number % every == 0 else pytest.mark.long)
        for number, case in enumerate(cases)
    ]
