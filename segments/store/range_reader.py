"""A seekable file over range reads, with read-ahead that grows while reads are sequential."""

import io
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

RANGE_BYTES_MAX = 8 << 20
RANGE_BYTES_MIN = 128 << 10
READERS_AHEAD_MAX = 8  # Threads of one process that read ahead, for all its files together.

ReadRange = Callable[[int, int], bytes]


class RangeReader(io.RawIOBase):
    """Read an immutable object of known size through `read_range(start, length)`.

    Holds at most two ranges: the one being read and, once reads are sequential, the next.
    Like any file it is for one thread at a time.
    """

    def __init__(self, read_range: ReadRange, size_bytes: int) -> None:
        self._read_range = read_range
        self._size = size_bytes
        self._position = 0
        self._start, self._buffer = 0, b""
        self._read_end = -1
        self._window = RANGE_BYTES_MIN
        self._ahead: tuple[int, Future[bytes]] | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position; nothing is read."""
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        if origin + offset < 0:
            raise ValueError(f"seek to {origin + offset}, before the object's start")
        self._position = origin + offset
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to size bytes; fewer only at the object's end."""
        remaining_bytes = max(0, self._size - self._position)
        requested = remaining_bytes if size is None or size < 0 else min(size, remaining_bytes)
        is_sequential = self._position == self._read_end
        pieces = []
        while requested:
            offset = self._position - self._start
            if not 0 <= offset < len(self._buffer):
                self._fill(requested, is_sequential)
                offset = 0
            piece = self._buffer[offset : offset + requested]
            pieces.append(piece)
            self._position += len(piece)
            requested -= len(piece)
        self._read_end = self._position
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def readall(self) -> bytes:
        """Read to the object's end."""
        return self.read(-1)

    def readinto(self, buffer: "memoryview | bytearray", /) -> int:  # type: ignore[override]
        """Read into a buffer; returns how many bytes."""
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Forget the cached bytes."""
        self._buffer, self._ahead = b"", None
        super().close()

    def _fill(self, requested: int, is_sequential: bool) -> None:
        start = self._position
        grown = min(self._window * 2, RANGE_BYTES_MAX)
        self._window = grown if is_sequential else RANGE_BYTES_MIN
        ahead, self._ahead = self._ahead, None
        if ahead and ahead[0] == start:
            buffer = ahead[1].result()
        else:
            buffer = self._read_range(start, self._length(start, max(requested, self._window)))
        if not buffer:
            raise EOFError(f"object ends at {start}, expected {self._size} bytes")
        self._start, self._buffer = start, buffer
        end, missing = start + len(buffer), requested - len(buffer)
        if end < self._size and (is_sequential or missing > 0):
            length = self._length(end, max(missing, self._window if is_sequential else 0))
            self._ahead = end, _pool(os.getpid()).submit(self._read_range, end, length)

    def _length(self, start: int, requested: int) -> int:
        return min(requested, RANGE_BYTES_MAX, self._size - start)


@cache
def _pool(process_id: int) -> ThreadPoolExecutor:
    """The threads that read ahead; a forked child makes its own."""
    return ThreadPoolExecutor(READERS_AHEAD_MAX, thread_name_prefix=f"read-ahead-{process_id}")
