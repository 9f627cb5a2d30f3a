"""ADR 34 names a test for every failure of what runs tasks, and these tests exist."""

import pytest

from tests.docs.named_tests import is_test, named_tests
from tests.docs.pages import ROOT

_PAGE = (ROOT / "docs" / "adr" / "0034-tasks-are-spark-jobs-everywhere.md").read_text()
_TABLE = _PAGE[_PAGE.index("| Failure |") :].partition("\n\n")[0]
FAILURES = [row.strip("| ").split(" | ") for row in _TABLE.splitlines()[2:]]


def test_the_page_has_its_failures() -> None:
    assert len(FAILURES) >= 12


@pytest.mark.parametrize("cells", FAILURES, ids=lambda cells: cells[0])
def test_every_failure_names_tests_that_exist(cells: list[str]) -> None:
    names = named_tests(cells[-1])

    assert names
    assert [name for name in names if not is_test(name)] == []
