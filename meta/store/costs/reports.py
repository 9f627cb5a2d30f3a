"""Last report of each start of a process, so that a repeated report adds nothing."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.versions.clock import ago

# A process drops a report that was not answered for a day.
KEPT_SECS = 7 * 86_400
# Starts of processes; beyond it those that reported first are forgotten.
REPORTERS_MAX = 100_000
EXPIRED_AT_ONCE = 5_000

_CLAIM = text("""
    INSERT INTO cost_reports AS r (reporter, number) VALUES (:reporter, :number)
    ON CONFLICT (reporter) DO UPDATE SET number = excluded.number, reported_at = now()
      WHERE r.number < excluded.number
    RETURNING number
""")
_NUMBER = text("""
    SELECT number, cast(extract(epoch FROM now() - reported_at) AS double precision)
    FROM cost_reports WHERE reporter = :reporter FOR UPDATE
""")
_EXPIRE = text(f"""
    WITH expired AS (
      SELECT reporter FROM cost_reports WHERE reported_at < {ago(":age")}
      ORDER BY reported_at LIMIT :most FOR UPDATE SKIP LOCKED
    ), excess AS (
      SELECT reporter FROM cost_reports ORDER BY reported_at DESC OFFSET :kept LIMIT :most
    )
    DELETE FROM cost_reports
    WHERE reporter IN (SELECT reporter FROM expired UNION ALL SELECT reporter FROM excess)
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class Rise:
    """Amount by which a counter rose since its number was taken, and the seconds since then."""

    amount: int = 0
    secs: float = 0.0


def claim(tx: Transaction, reporter: UUID, number: int) -> bool:
    """Take a report as the last one of its process; False if it was taken already."""
    row = tx.execute(_CLAIM, {"reporter": reporter, "number": number}).one_or_none()
    return row is not None


def advance(tx: Transaction, reporter: UUID, number: int, secs_min: float) -> Rise:
    """Take the number that a counter has now, unless it was taken less than some seconds ago.

    Several servers may take the numbers of one counter. The first time it has not risen.
    """
    row = tx.execute(_NUMBER, {"reporter": reporter}).one_or_none()
    former, secs = (number, 0.0) if row is None else row
    if (row is not None and secs < secs_min) or not claim(tx, reporter, number):
        return Rise()
    return Rise(number - former, secs)


def expire(tx: Transaction) -> bool:
    """Forget a page of old reports; True if there may be more."""
    values = {"age": KEPT_SECS, "most": EXPIRED_AT_ONCE, "kept": REPORTERS_MAX}
    return tx.execute(_EXPIRE, values).rowcount >= EXPIRED_AT_ONCE
