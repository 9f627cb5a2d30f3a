"""The stored form of a token index: blocks, each with a Bloom filter for each row group.

A term is in the block that the first bits of its hash name, so a question reads one block of each
segment, however many row groups it has. A block has the number of row groups, their rows and the
bytes of their filters, then the filters, then a CRC-32C over all of it and the block's number.
Numbers are little-endian, of 32 bits. A row group whose filter has no bytes has every term.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import google_crc32c

from segments.token_index.place import IndexedGroup

NUM_PROBES = 6
PROBE_BITS = 15
# The probes reach so many bits.
FILTER_BYTES_MAX = 2**PROBE_BITS // 8
_PROBE_MASK = 2**PROBE_BITS - 1
_NUMBER, _GROUP = struct.Struct("<I"), struct.Struct("<II")
CRC_BYTES = 4


def header(groups: Sequence[tuple[int, int]]) -> bytes:
    """Return the beginning of each block: rows and filter bytes of the row groups."""
    return _NUMBER.pack(len(groups)) + b"".join(_GROUP.pack(*group) for group in groups)


def checksum(content: bytes, number: int) -> bytes:
    """Return the last bytes of a block."""
    crc = google_crc32c.extend(google_crc32c.value(content), _NUMBER.pack(number))
    return _NUMBER.pack(crc)


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it was read."""

    _content: bytes
    groups: tuple[IndexedGroup, ...]
    _filters: tuple[tuple[int, int], ...]

    def groups_with(self, term_hash: int) -> Iterator[IndexedGroup]:
        """Yield the row groups that may have a term, whose block this is."""
        for group, (start, size) in zip(self.groups, self._filters, strict=True):
            if not size or all(
                self._content[start + (bit >> 3)] >> (bit & 7) & 1
                for bit in probes(term_hash, size * 8)
            ):
                yield group


def read_block(content: bytes, number: int) -> Block | None:
    """Return a block; None if it is damaged."""
    body = content[:-CRC_BYTES]
    if len(body) < _NUMBER.size or content[-CRC_BYTES:] != checksum(body, number):
        return None
    (count,) = _NUMBER.unpack_from(body)
    filters_start = start = _NUMBER.size + count * _GROUP.size
    groups, filters, row = [], [], 0
    for group, (rows, size) in enumerate(_GROUP.iter_unpack(body[_NUMBER.size : filters_start])):
        groups.append(IndexedGroup(group, row, row + rows))
        filters.append((start, size))
        start, row = start + size, row + rows
    return Block(body, tuple(groups), tuple(filters)) if start == len(body) else None


def probes(term_hash: int, bits: int) -> Iterator[int]:
    """Yield the bits of a term in a filter."""
    first, step = term_hash & _PROBE_MASK, term_hash >> PROBE_BITS & _PROBE_MASK | 1
    return ((first + number * step) % bits for number in range(NUM_PROBES))
