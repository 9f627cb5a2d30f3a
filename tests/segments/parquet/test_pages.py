"""Single pages of a column chunk are read as Arrow reads them; damage is never taken for rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.parquet.pages import ChunkWithout, DataPage, UnknownPages, pages_of, uncompressed

TEXTS = [None if n % 7 == 3 else f"text {n} of {n % 13} " * (n % 5 + 1) for n in range(3_000)]


class Chunk:
    """The second of two column chunks of a file, in many small pages."""

    def __init__(self, path: Path, compression: str = "zstd", **options: object) -> None:
        # pyarrow's stubs know no such options.
        written: dict[str, object] = {
            "column_encoding": {"n": "PLAIN", "body": "DELTA_LENGTH_BYTE_ARRAY"},
            "use_dictionary": False,
            "write_batch_size": 16,
            "data_page_size": 2_048,
            "write_page_checksum": True,
            "write_page_index": True,
            **options,
        }
        table = pa.table({"n": range(len(TEXTS)), "body": TEXTS})
        pq.write_table(table, path, compression=compression, **written)  # type: ignore[arg-type]
        self.footer = pq.read_metadata(path)
        self.column = self.footer.row_group(0).column(1)
        self.size_bytes = path.stat().st_size
        start = self.column.data_page_offset
        self.content = path.read_bytes()[start : start + self.column.total_compressed_size]

    def pages(self, rows_end: int = len(TEXTS)) -> list[DataPage]:
        return list(pages_of(memoryview(self.content), self.column, rows_end))

    def texts(self, pages: Sequence[DataPage]) -> list[str | None]:
        chunk: Any = ChunkWithout(memoryview(self.content), self.column, pages, self.size_bytes)
        file = pq.ParquetFile(chunk, metadata=self.footer, page_checksum_verification=True)
        texts: list[str | None] = file.read_row_group(0, ["body"])["body"].to_pylist()
        return texts


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_rows_of_other_pages_are_null(tmp_path: Path, compression: str) -> None:
    chunk = Chunk(tmp_path / "a.parquet", compression)
    pages = chunk.pages()
    rng = random.Random(1)

    assert len(pages) > 20
    assert pages[-1].end_row == len(TEXTS)
    assert chunk.texts(pages) == TEXTS
    for count in (0, 1, 1, 2, 5, len(pages) - 1):
        chosen = sorted(rng.sample(pages, count), key=lambda page: page.first_row)
        rows = {row for page in chosen for row in range(page.first_row, page.end_row)}
        texts = [text if row in rows else None for row, text in enumerate(TEXTS)]
        assert chunk.texts(chosen) == texts


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_the_content_of_a_page_has_its_texts(tmp_path: Path, compression: str) -> None:
    chunk = Chunk(tmp_path / "a.parquet", compression)

    for page in chunk.pages():
        content = uncompressed(memoryview(chunk.content), page, chunk.column.compression)
        texts = TEXTS[page.first_row : page.end_row]
        assert all(text.encode() in content for text in texts if text is not None)


def test_no_page_behind_the_rows_is_looked_at(tmp_path: Path) -> None:
    chunk = Chunk(tmp_path / "a.parquet")
    pages = chunk.pages()
    chunk.content = chunk.content[: pages[3].end] + b"\xff" * 1_000

    assert chunk.pages(pages[3].end_row) == pages[:4]
    with pytest.raises(UnknownPages):
        chunk.pages(pages[3].end_row + 1)


def test_pages_of_other_kinds_are_not_read(tmp_path: Path) -> None:
    coded = Chunk(tmp_path / "a.parquet", use_dictionary=["body"], column_encoding=None)
    packed = Chunk(tmp_path / "b.parquet", "gzip")
    second = Chunk(tmp_path / "c.parquet", data_page_version="2.0")
    # A text is behind the prefix that it shares with the one before: it is nowhere as a whole.
    shared = Chunk(tmp_path / "d.parquet", column_encoding={"body": "DELTA_BYTE_ARRAY"})
    bounded = Chunk(tmp_path / "e.parquet", write_page_index=False)

    for chunk in (coded, packed, second, shared, bounded):
        with pytest.raises(UnknownPages):
            chunk.pages()


def test_damage_is_an_error_or_another_way_to_read(tmp_path: Path) -> None:
    chunk = Chunk(tmp_path / "a.parquet")
    page = chunk.pages()[1]
    whole = chunk.content
    outcomes = set()

    for place in range(page.start, page.end):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        chunk.content = bytes(damaged)
        try:
            pages = chunk.pages()
            contents = [uncompressed(memoryview(damaged), p, "ZSTD") for p in pages]
        except UnknownPages:
            outcomes.add("unknown")
        except (OSError, pa.ArrowException):
            outcomes.add("damaged")
        else:
            # Its encoding, or a field that no reader needs: the values are there.
            assert place < page.content
            assert len(contents) == len(pages)
    assert outcomes == {"unknown", "damaged"}
