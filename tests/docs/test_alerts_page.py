"""docs/alerts.md is what the table of alerts says."""

from tests.docs.alerts_page import page
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "alerts.md"


def test_the_page_is_generated() -> None:
    text = PAGE.read_text()

    assert text == page(text), "docs/alerts.md is stale: run make gen"
