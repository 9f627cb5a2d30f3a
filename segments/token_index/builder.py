"""Builds a token index while the rows of a segment are written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from segments.token_index import tokenizer
from segments.token_index.pages import NUM_PROBES, PAGE_BITS, checksum
from segments.token_index.place import PAGE_BYTES, PAGES_MAX
from segments.token_index.terms import ATTRIBUTE_COLUMNS, TEXT_COLUMNS
from segments.token_index.tokenizer import Hashes, NoPlainJson

# A filter of so many bits a term has 2 of 1,000 other terms too.
BITS_PER_TERM = 14
# Of the bytes of its segment.
SHARE_MAX = 0.08
# 8 bytes each are kept until the file is complete.
TERMS_MAX = 4_000_000
# Of 512 KiB, tokenizing takes half of the CPU that it takes of all texts of a row group at once.
SLICE_BYTES = 512 * 1024
# Terms that came lately are known by a table, so that only others are collected.
_RECENT_BITS = 18
_RECENT_MASK = np.uint64(2**_RECENT_BITS - 1)
# Terms that are collected until repeated ones among them are left out.
_PENDING_MAX = 1_000_000
_PROBE_BITS, _PROBE_MASK = np.uint64(15), np.uint64(2**15 - 1)
_PAGES_AT_ONCE = 32


class TokenIndexBuilder:
    """Collects the terms of row groups.

    There is no index if an attribute column is no JSON, and none of more terms than TERMS_MAX.
    """

    def __init__(self) -> None:
        self._recent = np.zeros(2**_RECENT_BITS, np.uint64)
        self._known = np.empty(0, np.uint64)
        self._pending: list[Hashes] = []
        self._num_pending = 0
        self._is_given_up = False

    def add(self, group: pa.Table) -> None:
        """Take in the terms of a row group."""
        if self._is_given_up:
            return
        try:
            for name in TEXT_COLUMNS:
                for texts in _slices(group, name):
                    self._collect(tokenizer.term_hashes(name, texts))
            for name in ATTRIBUTE_COLUMNS:
                for texts in _slices(group, name):
                    self._collect(tokenizer.pair_hashes(name, texts))
        except NoPlainJson:
            self._give_up()

    def pages(self, file_bytes: int) -> bytes:
        """Return the index of a file that has so many bytes so far; empty if it gets none."""
        self._settle()
        terms = self._known
        most = min(PAGES_MAX, int(file_bytes * SHARE_MAX) // PAGE_BYTES)
        num_pages = min(most, -(-len(terms) * BITS_PER_TERM // PAGE_BITS))
        if self._is_given_up or num_pages < 1:
            return b""
        page_of = (terms >> np.uint64(32)) * np.uint64(num_pages) >> np.uint64(32)
        blocks = [*range(0, num_pages, _PAGES_AT_ONCE), num_pages]
        ends = np.searchsorted(page_of, blocks)
        parts = []
        for (first, last), (start, end) in zip(pairwise(blocks), pairwise(ends), strict=True):
            pages = page_of[start:end].astype(np.int64) - first
            parts += _filled(terms[start:end], pages, last - first, first, num_pages)
        return b"".join(parts)

    def _collect(self, hashes: Hashes) -> None:
        slots = (hashes & _RECENT_MASK).astype(np.int64)
        new = hashes[self._recent[slots] != hashes]
        self._recent[(new & _RECENT_MASK).astype(np.int64)] = new
        self._pending.append(new)
        self._num_pending += len(new)
        if self._num_pending > _PENDING_MAX:
            self._settle()

    def _settle(self) -> None:
        terms = np.sort(np.concatenate([self._known, *self._pending]))
        # By far faster than np.unique.
        self._known = terms[np.diff(terms, prepend=~terms[:1]) != 0]
        self._pending, self._num_pending = [], 0
        if len(self._known) > TERMS_MAX:
            self._give_up()

    def _give_up(self) -> None:
        self._is_given_up = True
        self._known, self._pending, self._num_pending = np.empty(0, np.uint64), [], 0


def _filled(
    terms: Hashes, pages: npt.NDArray[np.int64], count: int, first: int, num_pages: int
) -> list[bytes]:
    """Make neighbouring pages; `pages` are those of the terms, counted from the first."""
    bits = np.zeros(count * PAGE_BITS, np.bool_)
    start, step = terms & _PROBE_MASK, terms >> _PROBE_BITS & _PROBE_MASK | np.uint64(1)
    for number in range(NUM_PROBES):
        place = (start + np.uint64(number) * step) % np.uint64(PAGE_BITS)
        bits[pages * PAGE_BITS + place.astype(np.int64)] = True
    packed = np.packbits(bits.reshape(count, PAGE_BITS), axis=1, bitorder="little")
    made = []
    for number, page in enumerate(packed):
        content = page.tobytes()
        made.append(content + checksum(content, first + number, num_pages))
    return made


def _slices(group: pa.Table, name: str) -> Iterator[pa.ChunkedArray[Any]]:
    """Yield the texts of a column, some at a time: more would not stay in a processor's cache."""
    if name in group.schema.names:
        texts = _values(group[name])
        rows = max(1, int(len(texts) * SLICE_BYTES / max(1, texts.nbytes)))
        for start in range(0, len(texts), rows):
            yield texts.slice(start, rows)


def _values(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Return the texts of a column, those of a dictionary once."""
    if not pa.types.is_dictionary(column.type):
        return column
    chunks: list[Any] = [chunk for chunk in column.chunks if chunk.null_count < len(chunk)]
    return pa.chunked_array([chunk.dictionary for chunk in chunks], column.type.value_type)
