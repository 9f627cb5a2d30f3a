"""docs/security.md names a test for every control, and the tests that it names exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
_CONTROL = re.compile(r"^\| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)
_NAME = re.compile(r"`(test_\w+|tests/[\w/]+\.py)`")


def controls() -> dict[str, list[str]]:
    """The threats of the page, and the tests of each."""
    section = PAGE[PAGE.index("## Controls") : PAGE.index("## Least privilege")]
    rows = _CONTROL.findall(section)[1:]
    return {threat: _NAME.findall(tests) for threat, _, tests in rows if set(threat) != {"-"}}


CONTROLS = controls()


@pytest.fixture(scope="module")
def functions() -> set[str]:
    """The names of all tests."""
    texts = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"def (test_\w+)\(", text)}


def test_the_page_has_its_parts() -> None:
    assert len(CONTROLS) > 25
    for heading in ("| Asset |", "| Actor |", "## Controls", "## Remaining risks", "## Reporting"):
        assert heading in PAGE


@pytest.mark.parametrize("threat", CONTROLS)
def test_every_control_names_tests_that_exist(threat: str, functions: set[str]) -> None:
    assert CONTROLS[threat]
    for name in CONTROLS[threat]:
        assert name in functions or (ROOT / name).is_file(), name
