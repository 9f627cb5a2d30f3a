"""Places of errors in queries, and rows read piece by piece."""

import json

import pytest

from segplane.gateway.console.query.places import locate
from segplane.gateway.console.query.rows import CHARACTERS_MAX, ROWS_MAX, RowReader

HEAD = json.dumps([2, [["t", "time"], ["n", "number"]]]).encode() + b"\n"
ROW = b'["x", null]\n'


@pytest.mark.parametrize(
    ("message", "text", "place"),
    [
        ("2:3: no column; see", "a\n| bc d", (2, 3, 2)),
        ("2:6: ends too early; see", "a\n| bcd", (2, 6, 1)),
        ("9:9: beyond the text; see", "a", (0, 0, 1)),
        ("Expecting ). Line 1, Col: 8.", "SELECT (", (1, 8, 1)),
        ('no "b" here', "SELECT ab, b", (1, 12, 1)),
        ("no 'zz' here", "SELECT ab", (0, 0, 1)),
        ("Expecting word. Line 1, Col: 9.", "SELECT ab, b", (1, 8, 2)),
        ("nothing is quoted", "SELECT ab", (0, 0, 1)),
    ],
)
def test_a_message_is_about_a_place(message: str, text: str, place: tuple[int, int, int]) -> None:
    error = locate(message, text)

    assert (error.line, error.column, error.length) == place
    assert bool(error.excerpt) == bool(error.line)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_rows_come_whole_from_pieces_of_any_size(size: int) -> None:
    content, reader = HEAD + 5 * ROW, RowReader()

    rows = [
        row
        for start in range(0, len(content), size)
        for row in reader.feed(content[start : start + size])
    ]

    assert [[cell.text for cell in row] for row in rows] == 5 * [["x", None]]
    assert (reader.rows, reader.has_more) == (5, False)


def test_a_page_ends_at_its_rows_and_at_its_characters() -> None:
    full, more, wide = RowReader(), RowReader(), RowReader()
    long = json.dumps(["y" * (CHARACTERS_MAX // 2), "1"]).encode() + b"\n"

    assert len(full.feed(HEAD + ROWS_MAX * ROW)) == len(more.feed(HEAD + ROWS_MAX * ROW))
    assert more.feed(ROW) == []
    assert (full.rows, full.has_more) == (ROWS_MAX, False)
    assert (more.rows, more.has_more) == (ROWS_MAX, True)
    assert len(wide.feed(HEAD + 5 * long)) == 2
    assert wide.has_more
