"""CRC-32C of an object or file, computed while it is read in blocks."""

import io
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

import google_crc32c

BLOCK_BYTES = 4 << 20


class Checksum(NamedTuple):
    """The checksum and size of some bytes."""

    crc32c: int
    size_bytes: int


def checksum_of(
    source: io.IOBase | BinaryIO, on_block: Callable[[bytes], object] = lambda _: None
) -> Checksum:
    """Read a source to its end; `on_block` is called with each block, of at most `BLOCK_BYTES`."""
    crc32c = size_bytes = 0
    while block := source.read(BLOCK_BYTES):
        crc32c = google_crc32c.extend(crc32c, block)
        size_bytes += len(block)
        on_block(block)
    return Checksum(crc32c, size_bytes)
