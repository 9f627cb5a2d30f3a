"""Messages between the gateway and a query's process: a length, then so many bytes.

Requests are JSON from the process, which runs a caller's query, and are never unpickled. Replies
come from the gateway: a byte for the outcome, then bytes, or a pickle to unpickle.
"""

import socket
import struct
from dataclasses import dataclass

REQUEST_BYTES_MAX = 2**20
# One read of a file; a process asks for larger ones piece by piece.
READ_BYTES_MAX = 4 * 2**20
REPLY_BYTES_MAX = 2**30
DONE, REFUSED, MISSING = b"+", b"-", b"0"
# A message to the launcher is a letter and a process id; its answer is an id, or an exit code.
MESSAGE = struct.Struct(">cq")
START, WAIT = b"s", b"w"
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of a process, which it gets before its query.

    `system_bytes` is the memory that the kernel gives it beyond that of its start, of which DuckDB
    may use `memory_bytes` for its buffers.
    """

    memory_bytes: int
    system_bytes: int
    spill_bytes: int
    threads: int


@dataclass(frozen=True, slots=True)
class QueryTask:
    """A query, and the format of its result.

    With `newest_rows`, `text` is the name of a dataset whose newest rows are returned.
    """

    text: str
    language: str | None
    format: str
    newest_rows: int = 0


def send(lane: socket.socket, *parts: bytes) -> None:
    """Send one message; raises OSError."""
    lane.sendall(_LENGTH.pack(sum(map(len, parts))))
    for part in parts:
        lane.sendall(part)


def receive(lane: socket.socket, bytes_max: int) -> bytearray:
    """Receive one message; raises EOFError at the end, ValueError if it is too long, OSError."""
    (length,) = _LENGTH.unpack(_exactly(lane, _LENGTH.size))
    if length > bytes_max:
        raise ValueError(f"a message has {length:,} bytes, at most {bytes_max:,} are taken")
    return _exactly(lane, length)


def _exactly(lane: socket.socket, length: int) -> bytearray:
    message = bytearray(length)
    rest = memoryview(message)
    while rest:
        count = lane.recv_into(rest)
        if not count:
            raise EOFError
        rest = rest[count:]
    return message
