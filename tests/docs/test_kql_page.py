"""docs/kql.md is what the table of operators and functions says."""

from pathlib import Path

from tests.docs.kql_page import page

PAGE = Path(__file__).parents[2] / "docs" / "kql.md"


def test_the_page_is_generated() -> None:
    text = PAGE.read_text()

    assert text == page(text), "docs/kql.md is stale: run make gen"
