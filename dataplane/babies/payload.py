"""OTLP payloads: the content of a baby segment, one export's slice each."""

from collections.abc import Iterator
from typing import NamedTuple

from segments.otlp.split import RECORDS_MAX, cut
from segments.signals import Signal

# Columns of a record without any content: an empty record is 2 bytes of OTLP.
ROW_BYTES = 128


class Payload(NamedTuple):
    """One OTLP payload and its position. `received_at` is the time of records without one.

    `decoded_bytes` estimates the size of its columns, to bound memory. A validated payload
    was accepted by the official classes before it was stored. `piece` counts the pieces that the
    payload was split into.
    """

    stream_id: str
    offset: int
    token_id: str
    signal: Signal
    slice_index: int
    body: bytes
    received_at: int
    decoded_bytes: int
    is_validated: bool
    # Place among the pieces of a payload that is split.
    piece: int = 0
    # Records of the payload that were quarantined by themselves: their piece and verdict.
    part: str = ""
    # That of the export as it was sent; empty = its collector stamped none.
    digest: bytes = b""
    # Digest of its position; "" = it follows from the fields. Readers who get payloads from a
    # gateway are not told stream, offset and token.
    position: str = ""

    @property
    def is_one_piece(self) -> bool:
        """Whether it is known without a look at it that it need not be split."""
        return self.is_validated and len(self.body) <= RECORDS_MAX

    def pieces(self) -> Iterator["Payload"]:
        """Split the payload if it holds more records than one pass may decode.

        Raises UndecodableSlice if it is not a payload of its signal.
        """
        pieces = cut(self.signal, self.body, is_validated=self.is_validated)
        for piece, body in enumerate(pieces):
            if len(body) == len(self.body):
                yield self
            else:
                decoded_bytes = max(len(body), RECORDS_MAX * ROW_BYTES)
                yield self._replace(body=body, decoded_bytes=decoded_bytes, piece=piece)
