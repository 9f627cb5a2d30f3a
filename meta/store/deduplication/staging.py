"""Parts of the keys of one registration, stored before it: a message does not hold them all.

They claim nothing. The registration reads and removes them; those of a caller that died are
forgotten.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from uuid import UUID

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import BYTEA

from meta.errors import Overloaded
from meta.store.deduplication.windows import DayKeys
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.versions.clock import ago
from segments.deduplication import HASH_BYTES

# Staged lists of all callers: 1 GB. Each registration has 8 at most.
STAGED_MAX = 256
# A registration follows its parts within seconds.
KEPT_SECS = 3_600
_STAGE = text("""
    INSERT INTO staged_deduplication_keys (staged_id, part, days, numbers, hashes)
    SELECT :id, :part, cast(:days AS integer[]), cast(:numbers AS integer[]), :hashes
    WHERE (SELECT count(*) FROM staged_deduplication_keys) < :most
    ON CONFLICT DO NOTHING
""").bindparams(bindparam("hashes", type_=BYTEA))
_IS_STAGED = text(
    "SELECT EXISTS (SELECT FROM staged_deduplication_keys WHERE staged_id = :id AND part = :part)"
)
# Locked, so that they neither expire nor serve a second call until they are claimed.
_LOCK = text(
    "SELECT part FROM staged_deduplication_keys WHERE staged_id = :id AND part < :parts FOR UPDATE"
)
_READ = text(
    "SELECT days, numbers, hashes FROM staged_deduplication_keys"
    " WHERE staged_id = :id AND part = :part"
)
_REMOVE = text("DELETE FROM staged_deduplication_keys WHERE staged_id = :id")
_EXPIRE = text(f"DELETE FROM staged_deduplication_keys WHERE staged_at < {ago(str(KEPT_SECS))}")  # noqa: S608


@dataclass(frozen=True, slots=True)
class StagedParts:
    """The parts 0 to `number` - 1 that were stored under an id."""

    id: UUID
    number: int


def stage(tx: Transaction, staged_id: UUID, part: int, days: Sequence[DayKeys]) -> None:
    """Store a part; a repetition changes nothing. Raises Overloaded while too many wait."""
    values = {
        "id": staged_id,
        "part": part,
        "days": pg_arrays.numbers([day.day for day in days]),
        "numbers": pg_arrays.numbers([day.number for day in days]),
        "hashes": b"".join([day.hashes for day in days]),
        "most": STAGED_MAX,
    }
    if tx.execute(_STAGE, values).rowcount:
        return
    if not tx.execute(_IS_STAGED, {"id": staged_id, "part": part}).scalar_one():
        raise Overloaded(f"{STAGED_MAX} parts of deduplication keys wait for their registrations")


def lock(tx: Transaction, parts: StagedParts) -> bool:
    """Lock the parts; false unless all of them are there."""
    values = {"id": parts.id, "parts": parts.number}
    return len(tx.execute(_LOCK, values).all()) == parts.number


def read(tx: Transaction, parts: StagedParts) -> Iterator[tuple[DayKeys, ...]]:
    """Read the deduplication keys, one part at a time."""
    for part in range(parts.number):
        row = tx.execute(_READ, {"id": parts.id, "part": part}).one()
        hashes, ends = bytes(row.hashes), list(accumulate(row.numbers))
        yield tuple(
            DayKeys(day, hashes[(end - number) * HASH_BYTES : end * HASH_BYTES])
            for day, number, end in zip(row.days, row.numbers, ends, strict=True)
        )


def remove(tx: Transaction, parts: StagedParts) -> None:
    """Remove parts whose registration was decided."""
    tx.execute(_REMOVE, {"id": parts.id})


def expire(tx: Transaction) -> None:
    """Remove parts whose registration did not come."""
    tx.execute(_EXPIRE)
