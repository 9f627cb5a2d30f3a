"""The place of a token index in its object, and of its blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

# Blocks as `segments.token_index.blocks` describes them. Kinds 1 to 4 were written by builds
# before 0.3.0 and are not read: 1 took the dotted capital I for a separator, 2 and 3 had a filter
# for a file or a row group, 4 had other probes, and short numbers too.
KIND_BLOCKS = 5
# Rows of a row group that share a filter; the last span of a row group may have fewer.
SPAN_ROWS = 8_192
# A power of two: the first bits of a term's hash name its block.
NUM_BLOCKS = 1024
_BLOCK_BITS = 10
BLOCK_BYTES_MAX = 256 * 1024
# Name of the entry in a footer.
ENTRY = "token_index"


@dataclass(frozen=True, slots=True)
class TokenIndex:
    """The place of an index in its object, in bytes."""

    offset: int
    length: int

    @property
    def block_bytes(self) -> int:
        """Bytes of a block."""
        return self.length // NUM_BLOCKS

    def block_offset(self, number: int) -> int:
        """Return the first byte of a block in the object."""
        return self.offset + number * self.block_bytes


def footer_entry(offset: int, length: int) -> dict[str, object]:
    """Return the entry of a footer for an index."""
    return {ENTRY: [KIND_BLOCKS, offset, length]}


@dataclass(frozen=True, slots=True, order=True)
class IndexedSpan:
    """Rows of a file with a filter: their row group, the first of them, and the one behind them."""

    group: int
    start: int
    end: int


def row_ranges(spans: Sequence[IndexedSpan]) -> list[tuple[int, int]]:
    """Join neighbours of ordered spans: return the first row of each range and that behind it."""
    ranges: list[tuple[int, int]] = []
    for span in spans:
        if ranges and ranges[-1][1] == span.start:
            ranges[-1] = (ranges[-1][0], span.end)
        else:
            ranges.append((span.start, span.end))
    return ranges


def block_of(term_hash: int) -> int:
    """Return the number of the block that has the filters of a term."""
    return term_hash >> (64 - _BLOCK_BITS)


def is_valid(offset: int, length: int, size_bytes: int) -> bool:
    """Return whether an object of a size can have an index at a place."""
    block_bytes, remainder = divmod(length, NUM_BLOCKS)
    is_whole = not remainder and 1 <= block_bytes <= BLOCK_BYTES_MAX
    return is_whole and 0 < offset <= size_bytes - length
