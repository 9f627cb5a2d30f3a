"""Skips files and spans of rows whose token indexes say that they have none of some terms."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa

from segments.facts.token_index import place_of
from segments.token_index.blocks import read_block
from segments.token_index.place import IndexedSpan, TokenIndex, block_of
from segplane.read.errors import ReadError
from segplane.read.files.files import DatasetFile
from segplane.read.files.filesystems import filesystem, path_of

# Indexes that are read at a time: each is one request to the store for each term.
_READS_AT_ONCE = 16


def files_with(terms: Sequence[int], files: Sequence[DatasetFile]) -> tuple[DatasetFile, ...]:
    """Return the files that may have one of some terms, given by their hashes, or all for none.

    Of a file with an index, `spans` are the rows that may have one. A file without an index
    is one of them, and so is one whose index cannot be read.
    """
    if not terms:
        return tuple(files)
    places = ((file, place_of(file.written)) for file in files)
    indexed = [(file, index) for file, index in places if index is not None]
    if not indexed:
        return tuple(files)
    if len(indexed) == 1:
        read = [_narrowed(terms, *indexed[0])]
    else:
        with ThreadPoolExecutor(min(_READS_AT_ONCE, len(indexed))) as pool:
            read = list(pool.map(lambda item: _narrowed(terms, *item), indexed))
    narrowed = {file.segment_id: file for file in read}
    candidates = (narrowed.get(file.segment_id, file) for file in files)
    return tuple(file for file in candidates if file.spans is None or file.spans)


def _narrowed(terms: Sequence[int], file: DatasetFile, index: TokenIndex) -> DatasetFile:
    """Read the blocks of the terms, and return the file with the spans to read of it."""
    spans: set[IndexedSpan] = set()
    num_spans = 0
    try:
        with filesystem(file.store).open_input_file(path_of(file)) as source:
            for term in terms:
                number = block_of(term)
                source.seek(index.block_offset(number))
                block = read_block(source.read(index.block_bytes), number)
                if block is None:
                    return file
                spans.update(block.spans_with(term))
                num_spans = len(block.spans)
    except (OSError, pa.ArrowException, ReadError):
        # The read of the rows reports it.
        return file
    if len(spans) == num_spans:
        return file
    return replace(file, spans=tuple(sorted(spans)), num_spans_left_out=num_spans - len(spans))
