"""The table of what engines read is the one that was recorded."""

from pathlib import Path

from tests.support.gateway.read_figures import table

README = Path(__file__).parents[2] / "docs" / "reading" / "README.md"


def test_the_table_of_reads_is_the_recorded_one() -> None:
    assert "\n".join(table()) in README.read_text()
