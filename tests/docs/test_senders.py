"""The table of senders in docs/collector.md is the one that the tests run."""

from tests.docs.pages import ROOT
from tests.support.collector.senders import table


def test_the_table_of_senders_lists_what_is_run() -> None:
    page = (ROOT / "docs" / "collector.md").read_text()
    section = page.partition("## Senders that were run")[2].partition("\n## ")[0]

    lines = [line for line in section.splitlines() if line.startswith("| ")]

    assert lines[1:] == list(table())
