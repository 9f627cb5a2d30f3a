"""Observations of the database's clock, shared by all servers on one database."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from meta.store.engine.pool import Transaction

# Gaps are needed for as long as the longest age that is kept, the months of usage.
GAPS_KEPT_DAYS = 400

_LOCK = text("SELECT observed_at FROM clock_state FOR UPDATE")
_CLOCK = text("SELECT clock_timestamp()")
_OBSERVE = text("UPDATE clock_state SET observed_at = :at")
_ADD_GAP = text(
    "INSERT INTO clock_gaps (gap_start, gap_end) VALUES (:start, :end)"
    " ON CONFLICT (gap_end) DO UPDATE SET"
    " gap_start = least(clock_gaps.gap_start, excluded.gap_start)"
)
_FORGET_GAPS = text("DELETE FROM clock_gaps WHERE gap_end < :before")
# Waits for a time of the clock must not become longer because the clock went back.
_MOVE_BACK = (
    text("UPDATE nurseries SET lease_until = lease_until - :step WHERE lease_until > :now"),
    text("UPDATE scrub_state SET lease_until = lease_until - :step WHERE lease_until > :now"),
    text("UPDATE merge_tasks SET free_at = free_at - :step WHERE state = 1 AND free_at > :now"),
    text(
        "UPDATE pins SET expires_at = expires_at - :step, ends_at = ends_at - :step"
        " WHERE expires_at > :now"
    ),
    text("UPDATE backups SET ends_at = ends_at - :step"),
)
# Only pins and backups keep something from deletion.
_MOVE_FORWARD = (
    text(
        "UPDATE pins SET expires_at = expires_at + :step, ends_at = ends_at + :step"
        " WHERE expires_at > :start"
    ),
    text("UPDATE backups SET ends_at = ends_at + :step WHERE ends_at > :start"),
)


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of the clock that no age counts."""

    start: datetime
    end: datetime


def lock(tx: Transaction) -> datetime | None:
    """Observe alone; returns until when the clock was observed, None if it never was."""
    observed_at: datetime | None = tx.execute(_LOCK).scalar_one()
    return observed_at


def clock(tx: Transaction) -> datetime:
    """The database's time, which passes within a transaction too."""
    now: datetime = tx.execute(_CLOCK).scalar_one()
    return now


def observe(tx: Transaction, now: datetime, gap: Gap | None) -> None:
    """Note that the clock was observed until now, except for a gap."""
    if gap is not None:
        tx.execute(_ADD_GAP, {"start": gap.start, "end": gap.end})
        for statement in _MOVE_FORWARD:
            tx.execute(statement, {"start": gap.start, "step": gap.end - gap.start})
        tx.execute(_FORGET_GAPS, {"before": now - timedelta(days=GAPS_KEPT_DAYS)})
    tx.execute(_OBSERVE, {"at": now})


def move_leases_back(tx: Transaction, now: datetime, step: timedelta) -> None:
    """Shorten leases and back-offs by the step that the clock went back."""
    for statement in _MOVE_BACK:
        tx.execute(statement, {"now": now, "step": step})
