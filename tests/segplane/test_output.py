"""Input and output of commands."""

from datetime import UTC, datetime

import pytest

from segplane.cli.output import size_text, time_text
from segplane.terminal.plain_text import print_table
from segplane.terminal.times import parse_time

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOON = 1_795_262_400 * 10**9


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("2026-11-21T12:00:00Z", NOON),
        ("2026-11-21T12:00:00.000001Z", NOON + 1000),
        ("2026-11-21T14:00:00+02:00", NOON),
        ("2026-11-21 12:00", NOON),
        ("90m", NOON - 5400 * 10**9),
        ("7d", NOON - 604_800 * 10**9),
    ],
)
def test_times_are_read(text: str, nanos: int) -> None:
    assert parse_time(text, NOW) == nanos


@pytest.mark.parametrize("text", ["", "yesterday", "7", "-1h", "2026-13-01"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither"):
        parse_time(text, NOW)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (2**30 * 3, "3 GiB")],
)
def test_sizes_have_three_figures(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "-"),
        (NOON + 1_999, "2026-11-21T12:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (2**63 - 1, "2262-04-11T23:47:16.854775Z"),
    ],
)
def test_times_are_written_as_rfc_3339(nanos: int, text: str) -> None:
    assert time_text(nanos) == text


def test_tables_align_figures_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "count"), [("a", 1), ("longer", 20)])

    assert capsys.readouterr().out == "NAME    COUNT\na           1\nlonger     20\n"


def test_an_empty_table_is_its_headers(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "count"), [])

    assert capsys.readouterr().out == "NAME  COUNT\n"
