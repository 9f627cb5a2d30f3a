"""docs/security.md names a test for every control, and the tests that it names exist."""

import re

import pytest

from tests.docs.named_tests import is_test, named_tests
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
_CONTROL = re.compile(r"^\| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


def controls() -> dict[str, list[str]]:
    """The threats of the page, and the tests of each."""
    section = PAGE[PAGE.index("## Controls") : PAGE.index("## Least privilege")]
    rows = _CONTROL.findall(section)[1:]
    return {threat: named_tests(tests) for threat, _, tests in rows if set(threat) != {"-"}}


CONTROLS = controls()


def test_the_page_has_its_parts() -> None:
    assert len(CONTROLS) > 25
    for heading in ("| Asset |", "| Actor |", "## Controls", "## Remaining risks", "## Reporting"):
        assert heading in PAGE


@pytest.mark.parametrize("threat", CONTROLS)
def test_every_control_names_tests_that_exist(threat: str) -> None:
    assert CONTROLS[threat]
    assert [name for name in CONTROLS[threat] if not is_test(name)] == []
