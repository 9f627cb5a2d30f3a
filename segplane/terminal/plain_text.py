"""Aligned tables and sizes as text."""

from collections.abc import Iterable, Iterator, Sequence

NONE = "-"
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table."""
    for line in table(headers, rows):
        print(line)


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield rows under headers; numbers to the right, never cut to the terminal's width."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *texts, strict=True)]
    right = [all(_is_figure(row[i]) for row in texts) for i in range(len(headers))]
    for row in ([header.upper() for header in headers], *texts):
        cells = (
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, right, strict=True)
        )
        yield "  ".join(cells).rstrip()


def size_text(size_bytes: int) -> str:
    """Write a size with three figures and a binary unit."""
    size = float(size_bytes)
    for unit in _BYTE_UNITS:
        if size < 1024 or unit == _BYTE_UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1024
    raise AssertionError(size_bytes)


def _is_figure(text: str) -> bool:
    return text == NONE or text[:1].isdigit() or text[:2].lstrip("-").isdigit()
