"""Migrations form one line: two changes that took the same number are noticed before they meet."""

import re
from pathlib import Path

from tests.support.releases import database
from tests.support.releases.release import RELEASE_BEFORE

VERSIONS = Path(__file__).parents[2] / "meta" / "migrations" / "versions"
_REVISION = re.compile(r'^revision = "(\w+)"$', re.MULTILINE)
_BEFORE = re.compile(r'^down_revision = (?:"(\w+)"|None)$', re.MULTILINE)


def test_each_revision_follows_the_one_of_the_number_before() -> None:
    files = sorted(VERSIONS.glob("[0-9]*.py"))
    first = int(files[0].name[:4])

    before = None
    for number, path in enumerate(files, start=first):
        text = path.read_text()
        revision, down = _REVISION.search(text), _BEFORE.search(text)
        assert revision is not None, path.name
        assert down is not None, path.name
        assert path.name.startswith(f"{number:04}_"), f"{path.name}: the next number is {number:04}"
        assert (revision[1], down[1]) == (f"{number:04}", before), path.name
        before = revision[1]


def test_the_first_revision_is_the_head_of_the_release_before() -> None:
    """Servers of that release compare revisions as texts with their own head."""
    first = min(VERSIONS.glob("[0-9]*.py"))

    recorded = database.revision(RELEASE_BEFORE.fixtures / "database.sql")
    assert first.name == f"{recorded}_baseline.py"
