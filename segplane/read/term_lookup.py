"""Leaves out files whose token indexes say that they have none of some terms."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from segments.token_index.pages import may_have
from segplane.read.errors import ReadError
from segplane.read.files import DatasetFile
from segplane.read.filesystems import filesystem, path_of

# Indexes that are read at a time: each is one request to the store.
_READS_AT_ONCE = 16


def files_with(terms: Sequence[int], files: Sequence[DatasetFile]) -> tuple[DatasetFile, ...]:
    """Return the files that may have one of some terms, given by their hashes, or all for none.

    A file without an index is one of them, and so is one whose index cannot be read.
    """
    indexed = [file for file in files if file.token_index is not None]
    if not terms or not indexed:
        return tuple(files)
    if len(indexed) == 1:
        known = [_may_have(terms, indexed[0])]
    else:
        with ThreadPoolExecutor(min(_READS_AT_ONCE, len(indexed))) as pool:
            known = list(pool.map(lambda file: _may_have(terms, file), indexed))
    left_out = {
        file.segment_id for file, may_have in zip(indexed, known, strict=True) if not may_have
    }
    return tuple(file for file in files if file.segment_id not in left_out)


def _may_have(terms: Sequence[int], file: DatasetFile) -> bool:
    """Read the pages of the terms with one request."""
    index = file.token_index
    assert index is not None
    pages = [index.page_of(term) for term in terms]
    offset, length = index.span(pages)
    try:
        with filesystem(file.store).open_input_file(path_of(file)) as source:
            source.seek(offset)
            content = source.read(length)
    except (OSError, pa.ArrowException, ReadError):
        # The read of the rows reports it.
        return True
    return any(
        may_have(index, index.page_in(content, offset, number), term)
        for number, term in zip(pages, terms, strict=True)
    )
