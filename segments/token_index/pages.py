"""The stored form of a token index: pages of a Bloom filter, each with its checksum.

A term is in the page that the first bits of its hash name, so a question reads one page of each
segment. A page has PAGE_BYTES: the filter's bits, then a CRC-32C over them, its number and the
number of pages, little-endian.
"""

import struct
from collections.abc import Iterable

import google_crc32c

from segments.token_index.place import PAGE_BYTES, TokenIndex

FILTER_BYTES = PAGE_BYTES - 4
PAGE_BITS = FILTER_BYTES * 8
NUM_PROBES = 6
_PROBE_BITS = 15
_PROBE_MASK = 2**_PROBE_BITS - 1


def may_have(index: TokenIndex, page: bytes, term_hash: int) -> bool:
    """Return False if a segment has no text with a term; `page` is that of the term.

    A damaged page has all terms.
    """
    crc = checksum(page[:FILTER_BYTES], index.page_of(term_hash), index.num_pages)
    if len(page) != PAGE_BYTES or page[FILTER_BYTES:] != crc:
        return True
    return all(page[bit >> 3] >> (bit & 7) & 1 for bit in probes(term_hash))


def probes(term_hash: int) -> Iterable[int]:
    """Yield the bits of a term in its page."""
    first, step = term_hash & _PROBE_MASK, term_hash >> _PROBE_BITS & _PROBE_MASK | 1
    return ((first + number * step) % PAGE_BITS for number in range(NUM_PROBES))


def checksum(bits: bytes, number: int, num_pages: int) -> bytes:
    """Return the last bytes of a page."""
    crc = google_crc32c.extend(google_crc32c.value(bits), struct.pack("<II", number, num_pages))
    return struct.pack("<I", crc)
