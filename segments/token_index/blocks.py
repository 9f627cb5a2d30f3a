"""The stored form of a token index: blocks, each with a Bloom filter for each span of rows.

A span is SPAN_ROWS rows of one row group, or the last of them. A term is in the block that the
first bits of its hash name, so a question reads one block of each segment, however many spans it
has. A block has the number of row groups, the rows of each and the bytes of each of its filters,
then the filters, then a CRC-32C over all of it and the block's number. Numbers are little-endian,
of 32 bits. A span whose filter has no bytes has every term.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import google_crc32c

from segments.token_index.place import SPAN_ROWS, IndexedSpan

# A probe of a term is the highest bits of its hash times one of these, as in Parquet's filters.
# Sums of two numbers would share bits by far more often in filters as small as these.
PROBE_FACTORS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B)
PROBE_BITS = 15
# The probes reach so many bits.
FILTER_BYTES_MAX = 2**PROBE_BITS // 8
_FACTOR_MASK = 2**32 - 1
_NUMBER, _GROUP = struct.Struct("<I"), struct.Struct("<II")
CRC_BYTES = 4


def num_spans(rows: int) -> int:
    """Return the number of spans of a row group."""
    return -(-rows // SPAN_ROWS)


def header(groups: Sequence[tuple[int, int]]) -> bytes:
    """Return the beginning of each block: rows of the row groups, and bytes of a filter of each."""
    return _NUMBER.pack(len(groups)) + b"".join(_GROUP.pack(*group) for group in groups)


def checksum(content: bytes, number: int) -> bytes:
    """Return the last bytes of a block."""
    crc = google_crc32c.extend(google_crc32c.value(content), _NUMBER.pack(number))
    return _NUMBER.pack(crc)


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it was read."""

    _content: bytes
    # Spans with the place and the bytes of their filters.
    _filters: tuple[tuple[IndexedSpan, int, int], ...]

    @property
    def spans(self) -> tuple[IndexedSpan, ...]:
        """All rows of the file."""
        return tuple(span for span, _, _ in self._filters)

    def spans_with(self, term_hash: int) -> Iterator[IndexedSpan]:
        """Yield the spans that may have a term, whose block this is."""
        bits_of: dict[int, tuple[int, ...]] = {}
        for span, start, size in self._filters:
            if size not in bits_of:
                bits_of[size] = tuple(probes(term_hash, size * 8)) if size else ()
            if all(self._content[start + (bit >> 3)] >> (bit & 7) & 1 for bit in bits_of[size]):
                yield span


def read_block(content: bytes, number: int) -> Block | None:
    """Return a block; None if it is damaged."""
    body = content[:-CRC_BYTES]
    if len(body) < _NUMBER.size or content[-CRC_BYTES:] != checksum(body, number):
        return None
    (count,) = _NUMBER.unpack_from(body)
    filters_start = start = _NUMBER.size + count * _GROUP.size
    filters, row = [], 0
    for group, (rows, size) in enumerate(_GROUP.iter_unpack(body[_NUMBER.size : filters_start])):
        end = row + rows
        for first in range(row, end, SPAN_ROWS):
            span = IndexedSpan(group, first, min(end, first + SPAN_ROWS))
            filters.append((span, start, size))
            start += size
        row = end
    return Block(body, tuple(filters)) if start == len(body) else None


def probes(term_hash: int, bits: int) -> Iterator[int]:
    """Yield the bits of a term in a filter."""
    products = (term_hash * factor & _FACTOR_MASK for factor in PROBE_FACTORS)
    return ((product >> 32 - PROBE_BITS) % bits for product in products)
