"""Pages of one column chunk, for readers that need few of its rows.

Arrow reads column chunks whole. `ChunkWithout` is a file in which skipped pages of an optional
column are one page of nulls, so that Arrow decompresses and decodes the others alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

# A PageHeader in Thrift's compact protocol, as Arrow writes it beside an index of pages: its type,
# sizes and checksum, and the numbers of values and encodings of a data page, without statistics.
_NUMBER = rb"\x15([\x80-\xff]{0,4}[\0-\x7f])"
_HEADER = re.compile(
    b"%(n)s%(n)s%(n)s(?:%(n)s\x1c|\x2c)%(n)s%(n)s%(n)s%(n)s\0\0" % {b"n": _NUMBER}, re.DOTALL
)
_DATA_PAGE = 0
_PLAIN, _RLE = 0, 3
# Encodings that keep each text in one piece; DELTA_BYTE_ARRAY shares prefixes.
_WHOLE_TEXTS = frozenset([_PLAIN, 6])
_UNCOMPRESSED = "UNCOMPRESSED"
_CODECS = frozenset(["ZSTD", _UNCOMPRESSED])


class UnknownPages(Exception):
    """The column chunk has pages of a kind that is not read one by one."""


class DataPage(NamedTuple):
    """A data page: its bytes in the chunk, with its header, and its rows in the row group."""

    start: int
    content: int
    end: int
    size_bytes: int
    crc32: int | None
    first_row: int
    end_row: int


def pages_of(
    chunk: memoryview, column: pq.ColumnChunkMetaData, rows_end: int
) -> Iterator[DataPage]:
    """Yield the pages of the first rows of an optional, flat column, in order.

    Raises UnknownPages if they are of another kind.
    """
    if column.has_dictionary_page or column.compression not in _CODECS:
        raise UnknownPages("the column has a dictionary or an unknown codec")
    start = row = 0
    while row < rows_end:
        header = _HEADER.match(chunk, start)
        if header is None:
            raise UnknownPages("a page has another header")
        kind, size, stored, crc, values, encoding = map(_number, header.groups(b"\0")[:6])
        if kind != _DATA_PAGE or encoding not in _WHOLE_TEXTS:
            raise UnknownPages("a page is not a data page that has its texts in one piece each")
        content, has_crc = header.end(), header[4] is not None
        end, end_row = content + stored, row + values
        if not content <= end <= len(chunk) or not row < end_row <= column.num_values:
            raise UnknownPages("pages have other sizes than the chunk")
        yield DataPage(start, content, end, size, crc if has_crc else None, row, end_row)
        start, row = end, end_row


class ChunkWithout:
    """A Parquet file as Python reads one, in which a column chunk has some pages only.

    Rows of the other pages are null. No bytes but those of the chunk can be read.
    """

    closed = False

    def __init__(
        self,
        chunk: memoryview,
        column: pq.ColumnChunkMetaData,
        pages: Sequence[DataPage],
        size_bytes: int,
    ) -> None:
        """`pages` are in order; `size_bytes` is the size of the file."""
        parts: list[bytes | memoryview] = []
        row = size = 0
        for page in pages:
            if page.first_row > row:
                parts.append(_nulls(page.first_row - row, column.compression))
            parts.append(chunk[page.start : page.end])
            row = page.end_row
        if row < column.num_values:
            parts.append(_nulls(column.num_values - row, column.compression))
        self._start, self._at, self._size = column.data_page_offset, 0, size_bytes
        # Arrow asks for as many bytes as the chunk has, and looks at none behind the last page.
        buffer = pa.allocate_buffer(max(len(chunk), sum(map(len, parts))))
        self._content = memoryview(buffer).cast("B")
        for part in parts:
            self._content[size : size + len(part)] = part
            size += len(part)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a byte of the file."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        """Return the byte that is read next."""
        return self._at

    def read(self, size: int = -1) -> memoryview:
        """Read bytes of the chunk."""
        start = self._at - self._start
        end = len(self._content) if size < 0 else start + size
        if start < 0 or end > len(self._content):
            raise OSError("these bytes are in no page that was read")
        self._at += end - start
        return self._content[start:end]

    def close(self) -> None:
        """Close the file."""
        self.closed = True


def uncompressed(chunk: memoryview, page: DataPage, compression: str) -> bytes:
    """Return the content of a page: levels, and values in their encoding.

    Raises OSError for a page that is damaged.
    """
    stored = chunk[page.content : page.end]
    if page.crc32 is not None and zlib.crc32(stored) != page.crc32 & 0xFFFFFFFF:
        raise OSError("a page of the file is damaged: its checksum is another")
    if compression == _UNCOMPRESSED:
        return bytes(stored)
    return pa.Codec("zstd").decompress(stored, page.size_bytes, asbytes=True)


def _nulls(rows: int, compression: str) -> bytes:
    """Make a page of nulls of an optional column."""
    levels = _varint(rows << 1) + b"\0"
    content = len(levels).to_bytes(4, "little") + levels
    stored = content
    if compression != _UNCOMPRESSED:
        stored = pa.Codec("zstd").compress(content, asbytes=True)
    numbers = [_DATA_PAGE, len(content), len(stored)]
    header = [b"\x15" + _varint(number << 1) for number in numbers]
    header.append(b"\x2c")
    header += [b"\x15" + _varint(number << 1) for number in (rows, _PLAIN, _RLE, _RLE)]
    return b"".join((*header, b"\0\0", stored))


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _number(varint: bytes) -> int:
    value = 0
    for byte in reversed(varint):
        value = value << 7 | byte & 0x7F
    return value >> 1 ^ -(value & 1)
