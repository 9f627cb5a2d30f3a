"""Bounds of pins, for each principal, or, of callers without one, for each name they give."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.errors import QuotaExceeded
from meta.store.engine import Transaction


@dataclass(frozen=True, slots=True)
class PinLimits:
    """Bounds of pins: seconds, numbers, and compressed bytes of tombstoned segments."""

    lease_secs: float = 3_600.0
    age_secs: float = 86_400.0
    per_owner: int = 1_000
    total: int = 10_000
    held_bytes_per_owner: int = 2**40


# A principal gets no further pins by other names.
_SAME = "principal = :principal AND (principal <> '' OR owner = :owner)"
_COUNT = text(f"SELECT count(*), count(*) FILTER (WHERE {_SAME}) FROM pins")  # noqa: S608
_HELD_BY_OTHERS = text(
    "SELECT coalesce(sum(held_bytes), 0)::bigint FROM pins"  # noqa: S608
    f" WHERE {_SAME} AND id <> :id"
)


def check_number(tx: Transaction, principal: str, owner: str, limits: PinLimits) -> None:
    """Raise QuotaExceeded if the caller, or all together, have as many pins as they may."""
    total, own = tx.execute(_COUNT, {"principal": principal, "owner": owner}).one()
    if own >= limits.per_owner:
        raise QuotaExceeded(
            f"{principal or owner!r} has {own} pins already", limit=limits.per_owner
        )
    if total >= limits.total:
        raise QuotaExceeded(f"there are {total} pins already", limit=limits.total)


def check_bytes(
    tx: Transaction, principal: str, owner: str, pin_id: UUID, held_bytes: int, limits: PinLimits
) -> None:
    """Raise QuotaExceeded if a pin of `held_bytes` and its owner's others would hold too much."""
    values = {"principal": principal, "owner": owner, "id": pin_id}
    others = int(tx.execute(_HELD_BY_OTHERS, values).scalar_one())
    if others + held_bytes > limits.held_bytes_per_owner:
        raise QuotaExceeded(
            f"pins of {principal or owner!r} would hold {others + held_bytes} bytes of segments"
            f" that are to be deleted, more than {limits.held_bytes_per_owner}",
            limit=limits.held_bytes_per_owner,
        )
