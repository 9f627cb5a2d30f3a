"""Releases from 0.3.0 on have a short section in the changelog, and a page with every change."""

import re

import pytest

from tests.docs.pages import ROOT

ENTRIES_MAX = 40
ENTRY_LINES_MAX = 2
KINDS = ["Upgrading", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
_ENTRY = re.compile(r"^- .*(?:\n .*)*", re.MULTILINE)
_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
_RELEASES = (ROOT / "CHANGELOG.md").read_text().partition("\n## [0.2.0]")[0]
SECTIONS = [text for text in _RELEASES.split("\n## ")[1:] if _ENTRY.search(text)]


def test_a_section_is_checked() -> None:
    assert len(SECTIONS) >= 1


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_a_release_has_few_short_entries(section: str) -> None:
    entries = _ENTRY.findall(section)

    assert len(entries) <= ENTRIES_MAX
    assert [entry for entry in entries if entry.count("\n") >= ENTRY_LINES_MAX] == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_a_release_begins_with_its_upgrade(section: str) -> None:
    headings = _HEADING.findall(section)

    assert headings == [kind for kind in KINDS if kind in headings]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_a_release_links_to_the_page_with_every_change(section: str) -> None:
    assert re.search(r"\(docs/releases/[\d.]+\.md\)", section)
