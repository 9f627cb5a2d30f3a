"""Pages of one column chunk, for readers that need few of its rows.

Arrow reads column chunks whole. `ChunkWithout` is a file in which skipped pages of an optional
column are one page of nulls, so that Arrow decompresses and decodes the others alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Numbers of Thrift's compact protocol, and of fields and words of Parquet's PageHeader.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 12
_TYPE, _SIZE, _STORED_SIZE, _CRC, _DATA_HEADER, _NUM_VALUES, _ENCODING = 1, 2, 3, 4, 5, 1, 2
_DATA_PAGE = 0
_PLAIN, _RLE = 0, 3
# Encodings that keep each text in one piece; DELTA_BYTE_ARRAY shares prefixes.
_WHOLE_TEXTS = frozenset([_PLAIN, 6])
_UNCOMPRESSED = "UNCOMPRESSED"
_CODECS = frozenset(["ZSTD", _UNCOMPRESSED])


class UnknownPages(Exception):
    """The column chunk has pages of a kind that is not read one by one."""


@dataclass(frozen=True, slots=True)
class DataPage:
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
        header, content = _struct(chunk, start)
        data = header.get(_DATA_HEADER)
        if header.get(_TYPE) != _DATA_PAGE or not isinstance(data, dict):
            raise UnknownPages("a page is no data page of version 1")
        if _number(data, _ENCODING) not in _WHOLE_TEXTS:
            raise UnknownPages("a page does not have its texts in one piece each")
        end, end_row = content + _number(header, _STORED_SIZE), row + _number(data, _NUM_VALUES)
        if not content <= end <= len(chunk) or not row < end_row <= column.num_values:
            raise UnknownPages("pages have other sizes than the chunk")
        size, crc = _number(header, _SIZE), header.get(_CRC)
        yield DataPage(start, content, end, size, crc, row, end_row)
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
    header = [_field(1, _I32) + _zigzag(number) for number in numbers]
    header.append(_field(2, _STRUCT))
    header += [_field(1, _I32) + _zigzag(number) for number in (rows, _PLAIN, _RLE, _RLE)]
    return b"".join((*header, b"\0\0", stored))


def _field(delta: int, kind: int) -> bytes:
    return bytes([delta << 4 | kind])


def _zigzag(number: int) -> bytes:
    return _varint(number << 1)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _number(fields: dict[int, Any], name: int) -> int:
    value = fields.get(name)
    if not isinstance(value, int):
        raise UnknownPages(f"a page header has no number {name}")
    return value


def _struct(data: memoryview, at: int) -> tuple[dict[int, Any], int]:
    """Read a struct of Thrift's compact protocol; returns its fields and the byte behind it."""
    fields: dict[int, Any] = {}
    name = 0
    try:
        while head := data[at]:
            at += 1
            kind = head & 15
            if not head >> 4:
                raise UnknownPages("a field is out of order")
            name += head >> 4
            if kind in (_TRUE, _FALSE):
                fields[name] = kind == _TRUE
            elif kind in (_I16, _I32, _I64):
                value, at = _read_varint(data, at)
                fields[name] = value >> 1 ^ -(value & 1)
            elif kind == _BINARY:
                value, at = _read_varint(data, at)
                at += value
            elif kind == _STRUCT:
                fields[name], at = _struct(data, at)
            else:
                raise UnknownPages(f"a field has type {kind}")
    except IndexError:
        raise UnknownPages("a page header ends too early") from None
    return fields, at + 1


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise UnknownPages("a number is too long")
    return value | byte << shift, at + 1
