"""Builds a token index while the rows of a segment are written, a row group at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from segments.token_index import tokenizer
from segments.token_index.blocks import (
    CRC_BYTES,
    FILTER_BYTES_MAX,
    PROBE_BITS,
    PROBE_FACTORS,
    checksum,
    header,
    num_spans,
)
from segments.token_index.place import BLOCK_BYTES_MAX, NUM_BLOCKS, SPAN_ROWS
from segments.token_index.terms import ATTRIBUTE_COLUMNS, TEXT_COLUMNS
from segments.token_index.tokenizer import Hashes, NoPlainJson

# A filter of so many bits a term has about 1 of 700 other terms too.
BITS_PER_TERM = 15
# Bytes of a filter of few terms: in a smaller one a single term would set most bits, and files that
# share the names of their metrics would all seem to have the same other terms.
SIZE_MIN = 4
# The largest part of its segment's bytes that an index may take.
SHARE_MAX = 0.08
# Block bytes for the filters of a row group whose share would be too little: the last row group of
# a section has few rows, and without a filter every question would read it in every file.
SMALL_BYTES = 32
# Terms of 8 bytes, of all spans of a row group, that are kept until the row group is complete.
TERMS_MAX = 4_000_000
# Tokenizing slices of 512 KiB takes half the CPU of all texts of a row group at once.
SLICE_BYTES = 512 * 1024
# Terms that came lately are known by a table, so that only others are collected.
_RECENT_BITS = 16
_RECENT_MASK = np.uint64(2**_RECENT_BITS - 1)
# Terms that are collected until repeated ones among them are removed.
_PENDING_MAX = 1_000_000
_PROBE_SHIFT = np.uint32(32 - PROBE_BITS)

Filters: TypeAlias = npt.NDArray[np.uint8]


class TokenIndexBuilder:
    """Makes the filters of each row group when it is written: memory is that of the index.

    A row group has no filters, which means every term, if an attribute column is not JSON, if its
    spans have more than TERMS_MAX terms, or if the index would take more than its share of the
    file and more than SMALL_BYTES of a block for this row group.
    """

    def __init__(self) -> None:
        self._filters: list[Filters] = []
        self._groups: list[tuple[int, int]] = []
        self._block_bytes = len(header(())) + CRC_BYTES

    def add(self, group: pa.Table, file_bytes: int) -> None:
        """Take in a row group of a file that has so many bytes with it."""
        size, spans = 0, num_spans(group.num_rows)
        self._block_bytes += len(header([(0, 0)])) - len(header(()))
        terms = _terms_of_spans(group)
        if terms is not None:
            # Filters of spans without terms have none.
            most = max(map(len, terms))
            ideal = max(SIZE_MIN, -(-most * BITS_PER_TERM // (8 * NUM_BLOCKS)))
            share = int(file_bytes * SHARE_MAX) // NUM_BLOCKS - self._block_bytes
            if ideal * spans <= SMALL_BYTES:
                share = max(share, SMALL_BYTES)
            # The other half of a block has room for the numbers of 16,000 row groups.
            share = min(share, BLOCK_BYTES_MAX // 2 - self._block_bytes)
            size = max(0, min(ideal, FILTER_BYTES_MAX, share // spans))
        self._groups.append((group.num_rows, size))
        if terms is not None and size:
            self._filters += [_filled(group_terms, size) for group_terms in terms]
        self._block_bytes += size * spans

    def content(self) -> bytes:
        """Return the index; empty if no row group has filters, or if there are too many."""
        if not self._filters or self._block_bytes > BLOCK_BYTES_MAX:
            return b""
        head = header(self._groups)
        parts = []
        for number in range(NUM_BLOCKS):
            block = b"".join([head, *(filters[number].tobytes() for filters in self._filters)])
            parts += [block, checksum(block, number)]
        return b"".join(parts)


class _Terms:
    """Collects the terms of a span, each at least once."""

    def __init__(self) -> None:
        self._recent = np.zeros(2**_RECENT_BITS, np.uint64)
        self._pending: list[Hashes] = []
        self._num_pending = 0
        self.known = np.empty(0, np.uint64)

    def collect(self, terms: Iterable[Hashes]) -> None:
        for hashes in terms:
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


def _terms_of_spans(group: pa.Table) -> list[Hashes] | None:
    """Return the terms of each span, in order and each once; None if they cannot be indexed."""
    spans: list[Hashes] = []
    try:
        shared = {name: list(_hashes(name, texts)) for name, texts in _dictionaries(group)}
        for start in range(0, group.num_rows, SPAN_ROWS):
            terms = _Terms()
            for name in (*TEXT_COLUMNS, *ATTRIBUTE_COLUMNS):
                if name in shared:
                    terms.collect(shared[name])
                elif name in group.schema.names:
                    terms.collect(_hashes(name, group[name].slice(start, SPAN_ROWS)))
            terms.settle()
            spans.append(terms.known)
            if sum(map(len, spans)) > TERMS_MAX:
                return None
    except NoPlainJson:
        return None
    return spans


def _dictionaries(group: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray[Any]]]:
    """Yield the texts of dictionaries, which all spans of a row group have."""
    for name in (*TEXT_COLUMNS, *ATTRIBUTE_COLUMNS):
        if name in group.schema.names and pa.types.is_dictionary(group.schema.field(name).type):
            column = group[name]
            chunks: list[Any] = [chunk for chunk in column.chunks if chunk.null_count < len(chunk)]
            texts = [chunk.dictionary for chunk in chunks]
            yield name, pa.chunked_array(texts, column.type.value_type)


def _filled(terms: Hashes, size: int) -> Filters:
    """Make the filters of a span, one for each block."""
    block_of = (terms >> np.uint64(32)) * np.uint64(NUM_BLOCKS) >> np.uint64(32)
    first_bits = block_of.astype(np.int64) * (size * 8)
    bits = np.zeros(NUM_BLOCKS * size * 8, np.bool_)
    low = terms.astype(np.uint32)
    for factor in PROBE_FACTORS:
        bits[first_bits + (low * np.uint32(factor) >> _PROBE_SHIFT) % np.uint32(size * 8)] = True
    return np.packbits(bits.reshape(NUM_BLOCKS, size * 8), axis=1, bitorder="little")


def _hashes(name: str, texts: pa.ChunkedArray[Any]) -> Iterator[Hashes]:
    """Yield the terms of texts, some at a time: more would not stay in a processor's cache."""
    hashed = tokenizer.term_hashes if name in TEXT_COLUMNS else tokenizer.pair_hashes
    rows = max(1, int(len(texts) * SLICE_BYTES / max(1, texts.nbytes)))
    for start in range(0, len(texts), rows):
        yield hashed(name, texts.slice(start, rows))
