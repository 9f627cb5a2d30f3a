"""Rows whose body has a text as a term: by token indexes, and by the pages of few spans.

Arrow decodes a row group whole, 131,072 bodies for one that has the text. If a token index leaves
few rows of a file, the pages of their bodies are searched instead, and only pages with a part of
the text are decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kql.functions.folding import ASCII_ALPHANUMERIC, folded_term_pattern
from kql.regex import plainly_folded
from segments.location import StoreLocation
from segments.parquet.pages import ChunkWithout, DataPage, UnknownPages, pages_of, uncompressed
from segments.token_index.place import IndexedSpan
from segments.token_index.terms import searched_terms, term_hash
from segplane.read.files.files import DatasetFile
from segplane.read.files.filesystems import filesystem, fragment_of, path_of
from segplane.read.files.term_lookup import files_with
from segplane.read.rows.columns import ReadColumns

COLUMN = "body"
# A file with more rows is read by Arrow, whose threads share them.
_ROWS_MAX = 131_072
_FILES_AT_ONCE = 16
_FOOTERS_MAX = 64
_NO_ROWS: pa.Array[Any] = pa.array([], pa.uint64())
_NO_BODIES: pa.Array[Any] = pa.array([], pa.string())


class BodySearch:
    """The search for a text in the bodies of some files."""

    def __init__(self, text: str, columns: ReadColumns) -> None:
        self._columns = columns
        self._text = text
        self._part = plainly_folded(text).lower().encode()
        self._patterns = {
            is_ascii: folded_term_pattern(text, "has", *[ASCII_ALPHANUMERIC] * is_ascii)
            for is_ascii in (False, True)
        }

    @property
    def condition(self) -> pc.Expression:
        """The condition of KQL's `body has text`."""
        return pc.match_substring_regex(pc.field(COLUMN), self._patterns[False])

    def files(self, files: Sequence[DatasetFile]) -> tuple[DatasetFile, ...]:
        """Return the files, and spans of them, that may have such bodies."""
        term = max(searched_terms(self._text), key=len, default="")
        if not term:
            return tuple(files)
        candidates = map(_spans_of_logs, files_with((term_hash(COLUMN, term),), files))
        return tuple(file for file in candidates if file.spans is None or file.spans)

    def batches(self, files: Sequence[DatasetFile], names: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of files that `has_few_rows`, with some columns and the body."""
        search = partial(self._rows, names=[name for name in names if name != COLUMN])
        if len(files) == 1:
            yield from search(files[0])
            return
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            for start in range(0, len(files), _FILES_AT_ONCE):
                for batches in pool.map(search, files[start : start + _FILES_AT_ONCE]):
                    yield from batches

    def _rows(self, file: DatasetFile, names: Sequence[str]) -> list[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = []
        with filesystem(file.store).open_input_file(path_of(file)) as source:
            for group, spans in groupby(file.spans or (), lambda span: span.group):
                rows, bodies = self._bodies(source, file, group, tuple(spans))
                if len(rows):
                    table = pa.table({COLUMN: bodies})
                    if names:
                        others = self._others(file, group, names).take(rows)
                        table = pa.table([*others.columns, bodies], [*names, COLUMN])
                    batches += table.to_batches()
        return batches

    def _bodies(
        self, source: Any, file: DatasetFile, group: int, spans: Sequence[IndexedSpan]
    ) -> tuple[Any, Any]:
        """Return the rows of a row group whose bodies have the text, and these bodies."""
        footer = _footer(file.store, path_of(file))
        column = footer.row_group(group).column(_index_of(footer))
        chunk = source.read_at(column.total_compressed_size, column.data_page_offset)
        first = sum(footer.row_group(number).num_rows for number in range(group))
        try:
            pages = self._pages(memoryview(chunk), column, first, spans)
            if not pages:
                return _NO_ROWS, _NO_BODIES
            content: Any = ChunkWithout(memoryview(chunk), column, pages, file.size_bytes)
        except UnknownPages:
            content = source
        parquet = pq.ParquetFile(content, metadata=footer, page_checksum_verification=True)
        bodies = parquet.read_row_group(group, [COLUMN], use_threads=False)[COLUMN]
        rows = pc.indices_nonzero(pc.is_valid(bodies))
        texts = bodies.take(rows)
        is_ascii = pc.all(pc.string_is_ascii(texts)).as_py() is not False
        has_text = pc.match_substring_regex(texts, self._patterns[is_ascii])
        return rows.filter(has_text), texts.filter(has_text)

    def _pages(
        self,
        chunk: memoryview,
        column: pq.ColumnChunkMetaData,
        first: int,
        spans: Sequence[IndexedSpan],
    ) -> list[DataPage]:
        """Return the pages of some spans that have the text's part in any case."""
        ranges = [(span.start - first, span.end - first) for span in spans]
        pages = []
        for page in pages_of(chunk, column, ranges[-1][1]):
            if any(start < page.end_row and page.first_row < end for start, end in ranges):
                content = uncompressed(chunk, page, column.compression)
                if self._part in content.lower():
                    pages.append(page)
        return pages

    def _others(self, file: DatasetFile, group: int, names: Sequence[str]) -> pa.Table:
        """Return other columns of a row group."""
        guarantee = self._columns.guarantee
        fragment = fragment_of(file, row_groups=[group], partition_expression=guarantee)
        table: pa.Table = fragment.to_table(schema=self._columns.all, columns=list(names))
        return table


def _spans_of_logs(file: DatasetFile) -> DatasetFile:
    """Return a file without spans of other signals, whose sections are behind that of logs."""
    num_logs = file.rows_of("logs")
    if file.spans is None or not num_logs:
        return file
    return replace(file, spans=tuple(span for span in file.spans if span.start < num_logs))


def has_few_rows(file: DatasetFile) -> bool:
    """Return whether an index leaves so few rows of a file that their pages are searched."""
    return file.spans is not None and sum(span.end - span.start for span in file.spans) <= _ROWS_MAX


def _index_of(footer: pq.FileMetaData) -> int:
    names = (footer.schema.column(number).path for number in range(footer.num_columns))
    return next(number for number, name in enumerate(names) if name == COLUMN)


@lru_cache(_FOOTERS_MAX)
def _footer(store: StoreLocation, path: str) -> pq.FileMetaData:
    """Return the footer of an object, which never changes."""
    with filesystem(store).open_input_file(path) as source:
        return pq.read_metadata(source)
