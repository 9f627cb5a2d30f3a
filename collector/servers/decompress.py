"""Content encodings of HTTP, never to more bytes than allowed: a bomb stops at the limit."""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import cramjam
import google_crc32c
import lz4.frame
import zstandard

from collector.refusal import malformed, too_large

_GZIP_BITS = 16 + zlib.MAX_WBITS
# A frame that wants a larger window than this would make us hold it before the first byte.
_ZSTD_WINDOW_BYTES_MAX = 8 * 1024 * 1024
# Four bytes can stand for 128 KiB and the library knows no limit, so it is fed in small pieces.
_ZSTD_FEED_BYTES = 256
_SNAPPY_STREAM = b"\xff\x06\x00\x00sNaPpY"
_SNAPPY_COMPRESSED, _SNAPPY_PLAIN, _SNAPPY_RESERVED_END = 0x00, 0x01, 0x80
# The largest chunk of the framing format, decompressed.
_SNAPPY_CHUNK_BYTES_MAX = 65_536


def gunzip(body: bytes, size_bytes_max: int) -> bytes:
    """Decompress gzip, of several members too; raises Refused."""
    return _inflate(body, size_bytes_max, _GZIP_BITS, "gzip")


def inflate(body: bytes, size_bytes_max: int) -> bytes:
    """Decompress `deflate`: zlib's format, as the standard says, or bare, as some clients send."""
    has_header = (
        len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    )
    return _inflate(body, size_bytes_max, zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS, "zlib")


def unzstd(body: bytes, size_bytes_max: int) -> bytes:
    """Decompress zstd, of several frames too; raises Refused."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX)
    plain, remaining = bytearray(), memoryview(body)
    try:
        while remaining:
            frame = decompressor.decompressobj()
            while remaining and not frame.eof:
                plain += frame.decompress(remaining[:_ZSTD_FEED_BYTES])
                if len(plain) > size_bytes_max:
                    raise too_large(size_bytes_max)
                remaining = remaining[_ZSTD_FEED_BYTES:]
            if not frame.eof:
                raise malformed("zstd body is cut off")
            # Bytes of the last feed beyond this frame belong to the next one.
            unused = len(frame.unused_data)
            remaining = memoryview(body)[len(body) - len(remaining) - unused :]
    except zstandard.ZstdError as error:
        raise malformed("body is not zstd") from error
    return bytes(plain)


def unsnappy(body: bytes, size_bytes_max: int) -> bytes:
    """Decompress snappy, framed or as one block; raises Refused."""
    try:
        if not body.startswith(_SNAPPY_STREAM):
            return _snappy_block(body, size_bytes_max)
        plain = bytearray()
        for chunk in _snappy_chunks(body):
            plain += chunk
            if len(plain) > size_bytes_max:
                raise too_large(size_bytes_max)
    except cramjam.DecompressionError as error:
        raise malformed("body is not snappy") from error
    return bytes(plain)


def unlz4(body: bytes, size_bytes_max: int) -> bytes:
    """Decompress lz4, of several frames too; raises Refused."""
    try:
        return _members(body, size_bytes_max, lz4.frame.LZ4FrameDecompressor, "lz4")
    except RuntimeError as error:
        raise malformed("body is not lz4") from error


def _inflate(body: bytes, size_bytes_max: int, window_bits: int, name: str) -> bytes:
    try:
        return _members(body, size_bytes_max, lambda: zlib.decompressobj(window_bits), name)
    except zlib.error as error:
        raise malformed(f"body is not {name}") from error


def _members(body: bytes, size_bytes_max: int, start: Callable[[], Any], name: str) -> bytes:
    """Decompress the members of a body, each by a decompressor that `start` makes."""
    plain, remaining = bytearray(), body
    while remaining:
        member = start()
        plain += member.decompress(remaining, size_bytes_max + 1 - len(plain))
        if len(plain) > size_bytes_max:
            raise too_large(size_bytes_max)
        if not member.eof:
            raise malformed(f"{name} body is cut off")
        remaining = member.unused_data or b""
    return bytes(plain)


def _snappy_block(body: bytes, size_bytes_max: int) -> bytes:
    # The block states its size, so nothing is decompressed that would be too large.
    if cramjam.snappy.decompress_raw_len(body) > size_bytes_max:
        raise too_large(size_bytes_max)
    return bytes(cramjam.snappy.decompress_raw(body))


def _snappy_chunks(body: bytes) -> Iterator[bytes]:
    """Read the chunks of snappy's framing format and check their checksums."""
    at = 0
    while at < len(body):
        kind, end = body[at], at + 4 + int.from_bytes(body[at + 1 : at + 4], "little")
        chunk, at = body[at + 4 : end], end
        if at > len(body):
            raise malformed("snappy body is cut off")
        if kind not in (_SNAPPY_COMPRESSED, _SNAPPY_PLAIN):
            if kind < _SNAPPY_RESERVED_END:
                raise malformed("body is not snappy")
            continue
        data = chunk[4:]
        if kind == _SNAPPY_COMPRESSED:
            data = _snappy_block(data, _SNAPPY_CHUNK_BYTES_MAX)
        crc = google_crc32c.value(data)
        masked_crc = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        if masked_crc != int.from_bytes(chunk[:4], "little"):
            raise malformed("snappy body is damaged")
        yield data


def _identity(body: bytes, _: int) -> bytes:
    return body


# The names are those of the OpenTelemetry Collector and the SDKs; an empty name means none.
DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {
    "": _identity,
    "identity": _identity,
    "gzip": gunzip,
    "x-gzip": gunzip,
    "deflate": inflate,
    "zlib": inflate,
    "zstd": unzstd,
    "snappy": unsnappy,
    "x-snappy-framed": unsnappy,
    "lz4": unlz4,
}
