"""Payloads that a gateway passes on: one dataset's, without the baby segments that have them.

A stream of frames: a line of JSON, and as many bytes as it says. The last line has `end`, or an
`error` if the gateway could not read on.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol

from dataplane.babies.payload import ROW_BYTES, Payload
from segments.signals import SIGNALS, Signal
from segplane.read.gateway import GatewayRefused

_LINE_BYTES_MAX = 64 * 1024
_COPIED_BYTES = 2**20


class ByteStream(Protocol):
    """A stream of frames."""

    def readline(self, limit: int, /) -> bytes:
        """Read a line with its end, or `limit` bytes of it."""

    def read(self, size: int, /) -> bytes:
        """Read up to a number of bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class _KeptPayload:
    at: int
    size_bytes: int
    signal: Signal
    position: str
    received_at: int
    decoded_bytes: int
    digest: bytes


class PassedPayloads:
    """Payloads in a nameless file, which is deleted with this; safe for many threads.

    `rows` are those of all payloads at most.
    """

    def __init__(self, stream: ByteStream) -> None:
        """Keep all payloads of a stream. Raises GatewayRefused if it ends before its end."""
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="segplane-fresh-")  # noqa: SIM115
        self._kept: list[_KeptPayload] = []
        self.left_out = 0
        self.is_merged_only = False
        self.rows = 0
        while (head := _head(stream)).get("end") is None:
            self._keep(head, stream)
        self._file.flush()
        self.left_out = int(head.get("left_out", 0))
        self.is_merged_only = bool(head.get("merged_only"))

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Payload]:
        for kept in self._kept:
            body = os.pread(self._file.fileno(), kept.size_bytes, kept.at)
            yield Payload(
                "",
                0,
                "",
                kept.signal,
                0,
                body,
                kept.received_at,
                kept.decoded_bytes,
                is_validated=True,
                digest=kept.digest,
                position=kept.position,
            )

    def _keep(self, head: dict[str, Any], stream: ByteStream) -> None:
        signal, size_bytes = str(head["signal"]), int(head["size_bytes"])
        if signal not in SIGNALS:
            raise GatewayRefused(f"the gateway sends {signal[:80]!r}: upgrade segplane")
        kept = _KeptPayload(
            self._file.tell(),
            size_bytes,
            signal,
            str(head["position"]),
            int(head["received_at"]),
            int(head["decoded_bytes"]),
            bytes.fromhex(head["digest"]),
        )
        remaining = size_bytes
        while remaining:
            piece = stream.read(min(remaining, _COPIED_BYTES))
            if not piece:
                raise _cut_off()
            self._file.write(piece)
            remaining -= len(piece)
        # An estimate of no less than a row of the smallest size for each record.
        self.rows += kept.decoded_bytes // ROW_BYTES
        self._kept.append(kept)


def framed(payload: Payload, position: str) -> bytes:
    """Return the frame of a payload at a position."""
    head = {
        "signal": payload.signal,
        "position": position,
        "received_at": payload.received_at,
        "decoded_bytes": payload.decoded_bytes,
        "digest": payload.digest.hex(),
        "size_bytes": len(payload.body),
    }
    return json.dumps(head).encode() + b"\n" + payload.body


def end_frame(left_out: int, *, is_merged_only: bool) -> bytes:
    """Return the last frame of a stream that is whole."""
    head = {"end": True, "left_out": left_out, "merged_only": is_merged_only}
    return json.dumps(head).encode() + b"\n"


def error_frame(message: str, reason: str = "") -> bytes:
    """Return the last frame of a stream that cannot be whole."""
    return json.dumps({"error": {"message": message, "reason": reason}}).encode() + b"\n"


def _head(stream: ByteStream) -> dict[str, Any]:
    line = stream.readline(_LINE_BYTES_MAX)
    if not line.endswith(b"\n"):
        raise _cut_off()
    try:
        head: dict[str, Any] = json.loads(line)
        if "error" in head:
            error = head["error"]
            raise GatewayRefused(str(error["message"]), str(error["reason"]))
        assert isinstance(head, dict)
    except (ValueError, KeyError, TypeError) as error:
        raise GatewayRefused("the gateway's answer is not understood: upgrade segplane") from error
    return head


def _cut_off() -> GatewayRefused:
    return GatewayRefused("the gateway's answer was cut off: try again")
