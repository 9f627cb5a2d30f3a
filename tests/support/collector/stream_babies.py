"""Babies that a test puts into a stream beside the collector."""

from uuid import uuid4

from segments.baby import Baby, BabyKind, Export, TokenPart, encode_baby
from segments.keys import baby_key
from tests.support.collector.exports import log_export
from tests.support.collector.seat import Seat


def data_baby(seat: Seat, *ids: str) -> Baby:
    """Make a baby of one export per id."""
    exports = tuple(Export(f"{i:<16}".encode()[:16], 5) for i in ids)
    part = TokenPart(
        seat.token.token_id,
        "logs",
        tuple(log_export(i) for i in ids),
        seat.token.dataset_id,
        len(ids),
        10,
        20,
        exports,
    )
    return Baby((part,), BabyKind.DATA, uuid4().bytes, 5)


def put(seat: Seat, stream_id: str, offset: int, baby: Baby) -> None:
    """Put a baby at an offset."""
    seat.ground.store.put_if_absent(baby_key(stream_id, offset), encode_baby(baby))


def opened(seat: Seat) -> tuple[str, int]:
    """Open the stream; returns its id and next offset."""
    return seat.ground.register("collector-1", seat.token)


async def adopt_tail(seat: Seat, stream_id: str, next_offset: int) -> int:
    """Adopt the tail from an offset on; returns the next offset."""
    return await seat.tail(stream_id).adopt_all(next_offset)
