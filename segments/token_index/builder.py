"""Builds a token index while the rows of a segment are written, a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from segments.token_index import tokenizer
from segments.token_index.blocks import (
    CRC_BYTES,
    FILTER_BYTES_MAX,
    NUM_PROBES,
    PROBE_BITS,
    checksum,
    header,
)
from segments.token_index.place import BLOCK_BYTES_MAX, NUM_BLOCKS, footer_entry
from segments.token_index.terms import ATTRIBUTE_COLUMNS, TEXT_COLUMNS
from segments.token_index.tokenizer import Hashes, NoPlainJson

# A filter of so many bits a term has 2 of 1,000 other terms too.
BITS_PER_TERM = 14
# Of the bytes of its segment.
SHARE_MAX = 0.08
# 8 bytes each are kept until the row group is complete. A filter of more would have every term.
TERMS_MAX = 4_000_000
# Of 512 KiB, tokenizing takes half of the CPU that it takes of all texts of a row group at once.
SLICE_BYTES = 512 * 1024
# Terms that came lately are known by a table, so that only others are collected.
_RECENT_BITS = 18
_RECENT_MASK = np.uint64(2**_RECENT_BITS - 1)
# Terms that are collected until repeated ones among them are left out.
_PENDING_MAX = 1_000_000
_PROBE_BITS, _PROBE_MASK = np.uint64(PROBE_BITS), np.uint64(2**PROBE_BITS - 1)
_BLOCKS_AT_ONCE = 128

Filters: TypeAlias = npt.NDArray[np.uint8]


class TokenIndexBuilder:
    """Makes the filters of each row group when it is written: memory is that of the index.

    A row group has no filter, which means every term, if an attribute column is no JSON, if it has
    more terms than TERMS_MAX, or if the index would take more than its share of the file.
    """

    def __init__(self) -> None:
        self._filters: list[Filters] = []
        self._rows: list[int] = []
        self._block_bytes = len(header(())) + CRC_BYTES

    def add(self, group: pa.Table, file_bytes: int) -> None:
        """Take in a row group of a file that has so many bytes with it."""
        size = 0
        self._block_bytes += len(header([(0, 0)])) - len(header(()))
        terms = _terms(group)
        if terms is not None:
            # Filters of a row group without terms have none.
            ideal = max(1, -(-len(terms) * BITS_PER_TERM // (8 * NUM_BLOCKS)))
            # The other half of a block has room for the numbers of 16,000 row groups.
            share = min(int(file_bytes * SHARE_MAX) // NUM_BLOCKS, BLOCK_BYTES_MAX // 2)
            size = min(ideal, FILTER_BYTES_MAX, share - self._block_bytes)
        self._rows.append(group.num_rows)
        self._filters.append(
            np.empty((NUM_BLOCKS, 0), np.uint8)
            if terms is None or size < 1
            else _filled(terms, size)
        )
        self._block_bytes += max(0, size)

    def content(self) -> bytes:
        """Return the index; empty if no row group has a filter, or if there are too many."""
        sizes = [filters.shape[1] for filters in self._filters]
        if not any(sizes) or self._block_bytes > BLOCK_BYTES_MAX:
            return b""
        head = header(list(zip(self._rows, sizes, strict=True)))
        parts = []
        for number in range(NUM_BLOCKS):
            block = b"".join([head, *(filters[number].tobytes() for filters in self._filters)])
            parts += [block, checksum(block, number)]
        return b"".join(parts)

    def entry(self, offset: int, length: int) -> dict[str, object]:
        """Return the entry of the footer for the index at a place of the file."""
        return footer_entry(offset, length)


class _Terms:
    """Collects the terms of a row group, each at least once."""

    def __init__(self) -> None:
        self._recent = np.zeros(2**_RECENT_BITS, np.uint64)
        self._pending: list[Hashes] = []
        self._num_pending = 0
        self.known = np.empty(0, np.uint64)

    def collect(self, hashes: Hashes) -> None:
        slots = (hashes & _RECENT_MASK).astype(np.int64)
        new = hashes[self._recent[slots] != hashes]
        self._recent[(new & _RECENT_MASK).astype(np.int64)] = new
        self._pending.append(new)
        self._num_pending += len(new)
        if self._num_pending > _PENDING_MAX:
            self.settle()

    def settle(self) -> None:
        terms = np.sort(np.concatenate([self.known, *self._pending]))
        # By far faster than np.unique.
        self.known = terms[np.diff(terms, prepend=~terms[:1]) != 0]
        self._pending, self._num_pending = [], 0


def _terms(group: pa.Table) -> Hashes | None:
    """Return the terms of a row group in order, each once; None if they cannot be indexed."""
    terms = _Terms()
    try:
        for name in TEXT_COLUMNS:
            for texts in _slices(group, name):
                terms.collect(tokenizer.term_hashes(name, texts))
        for name in ATTRIBUTE_COLUMNS:
            for texts in _slices(group, name):
                terms.collect(tokenizer.pair_hashes(name, texts))
                if len(terms.known) > TERMS_MAX:
                    return None
    except NoPlainJson:
        return None
    terms.settle()
    return terms.known if len(terms.known) <= TERMS_MAX else None


def _filled(terms: Hashes, size: int) -> Filters:
    """Make the filters of a row group, one for each block."""
    block_of = (terms >> np.uint64(32)) * np.uint64(NUM_BLOCKS) >> np.uint64(32)
    bounds = [*range(0, NUM_BLOCKS, _BLOCKS_AT_ONCE), NUM_BLOCKS]
    ends = np.searchsorted(block_of, bounds)
    filters = np.empty((NUM_BLOCKS, size), np.uint8)
    for (first, last), (start, end) in zip(pairwise(bounds), pairwise(ends), strict=True):
        own, blocks = terms[start:end], block_of[start:end].astype(np.int64) - first
        bits = np.zeros((last - first) * size * 8, np.bool_)
        probe, step = own & _PROBE_MASK, own >> _PROBE_BITS & _PROBE_MASK | np.uint64(1)
        for number in range(NUM_PROBES):
            bit = (probe + np.uint64(number) * step) % np.uint64(size * 8)
            bits[blocks * (size * 8) + bit.astype(np.int64)] = True
        packed = np.packbits(bits.reshape(last - first, size * 8), axis=1, bitorder="little")
        filters[first:last] = packed
    return filters


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
