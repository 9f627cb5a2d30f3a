"""One OTLP export: validated by parsing, counted, and known by its digest.

The bytes that came are the bytes that are stored: nothing here serializes.
"""

import sys

from blake3 import blake3
from google.protobuf.message import DecodeError

from collector.refusal import Refusal, Refused, malformed
from meta.errors import Code
from segments.baby import Signal
from segments.otlp import content
from segments.otlp.content import Content, TooManyParts

DIGEST_BYTES = 16


class TooManyRecords(Refused):
    """The export has more records than were asked for: `num_parts` or more."""

    def __init__(self, records_max: int, num_parts: int) -> None:
        self.num_parts = num_parts
        text = (
            f"export has more than {records_max} log records, spans or data points (counted with "
            "their metrics, scopes and resources); send smaller batches"
        )
        super().__init__(Refusal(Code.RESOURCE_EXHAUSTED, text))


def read_content(signal: Signal, payload: bytes, records_max: int = sys.maxsize) -> Content:
    """Parse an export request; raises Refused where the official classes refuse it.

    Raises TooManyRecords, quickly, where it has more records, metrics, scopes and resources in all
    than `records_max`: an empty one is two bytes on the wire, and hundreds to whoever reads it.
    """
    try:
        return content.read_content(signal, payload, records_max)
    except TooManyParts as error:
        raise TooManyRecords(records_max, error.num_parts) from None
    except DecodeError as error:
        raise malformed(f"payload is not an OTLP {signal} export request") from error


def digest_of(token_id: str, signal: Signal, payload: bytes) -> bytes:
    """What two sends of one export have in common and no other export has."""
    # A collision would be a loss, so it is cryptographic; BLAKE3 takes a quarter of SHA-256's time.
    digest = blake3(f"{token_id}\0{signal}\0".encode())
    digest.update(payload)
    return digest.digest(DIGEST_BYTES)
