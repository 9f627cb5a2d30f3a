"""Validation of one OTLP export: its record count, time bounds and digest.

The bytes that came are the bytes that are stored: nothing here serializes.
"""

import sys

from blake3 import blake3
from google.protobuf.message import DecodeError

from collector.refusal import Refusal, Refused, malformed
from meta.errors import Code
from segments.otlp import content
from segments.otlp.content import PayloadFacts, TooManyParts
from segments.signals import Signal

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


def read_facts(signal: Signal, payload: bytes, records_max: int = sys.maxsize) -> PayloadFacts:
    """Parse an export request; raises Refused where the official classes refuse it.

    Raises TooManyRecords early where it has more records, metrics, scopes and resources in all than
    `records_max`: an empty one takes two bytes on the wire, and hundreds in a reader's memory.
    """
    try:
        return content.read_facts(signal, payload, records_max)
    except TooManyParts as error:
        raise TooManyRecords(records_max, error.num_parts) from None
    except DecodeError as error:
        raise malformed(f"payload is not an OTLP {signal} export request") from error


def digest_of(token_id: str, signal: Signal, payload: bytes) -> bytes:
    """Digest that every resend of an export shares, and no other export."""
    # A collision would be a loss, so it is cryptographic; BLAKE3 takes a quarter of SHA-256's time.
    digest = blake3(f"{token_id}\0{signal}\0".encode())
    digest.update(payload)
    return digest.digest(DIGEST_BYTES)
