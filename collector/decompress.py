"""gzip and zstd, never to more bytes than allowed: a bomb stops at the limit."""

import zlib
from collections.abc import Callable

import zstandard

from collector.refusal import malformed, too_large

_GZIP_BITS = 16 + zlib.MAX_WBITS
# A frame that wants a larger window than this would make us hold it before the first byte.
_ZSTD_WINDOW_BYTES_MAX = 8 * 1024 * 1024
# Four bytes can stand for 128 KiB and the library knows no limit, so it is fed in small pieces.
_ZSTD_FEED_BYTES = 256


def gunzip(body: bytes, size_bytes_max: int) -> bytes:
    """Decompress gzip, of several members too; raises Refused."""
    plain, rest = bytearray(), body
    try:
        while rest:
            member = zlib.decompressobj(_GZIP_BITS)
            plain += member.decompress(rest, size_bytes_max + 1 - len(plain))
            if len(plain) > size_bytes_max:
                raise too_large(size_bytes_max)
            if not member.eof:
                raise malformed("gzip body is cut off")
            rest = member.unused_data
    except zlib.error as error:
        raise malformed("body is not gzip") from error
    return bytes(plain)


def unzstd(body: bytes, size_bytes_max: int) -> bytes:
    """Decompress zstd, of several frames too; raises Refused."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES_MAX)
    plain, rest = bytearray(), memoryview(body)
    try:
        while rest:
            frame = decompressor.decompressobj()
            while rest and not frame.eof:
                plain += frame.decompress(rest[:_ZSTD_FEED_BYTES])
                if len(plain) > size_bytes_max:
                    raise too_large(size_bytes_max)
                rest = rest[_ZSTD_FEED_BYTES:]
            if not frame.eof:
                raise malformed("zstd body is cut off")
            # What the last feed held beyond this frame belongs to the next one.
            unused = len(frame.unused_data)
            rest = memoryview(body)[len(body) - len(rest) - unused :]
    except zstandard.ZstdError as error:
        raise malformed("body is not zstd") from error
    return bytes(plain)


DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {"gzip": gunzip, "zstd": unzstd}
