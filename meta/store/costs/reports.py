"""Last report of each start of a process, so that a repeated report adds nothing."""

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


def claim(tx: Transaction, reporter: UUID, number: int) -> bool:
    """Take a report as the last one of its process; False if it was taken already."""
    row = tx.execute(_CLAIM, {"reporter": reporter, "number": number}).one_or_none()
    return row is not None


def expire(tx: Transaction) -> bool:
    """Forget a page of old reports; True if there may be more."""
    values = {"age": KEPT_SECS, "most": EXPIRED_AT_ONCE, "kept": REPORTERS_MAX}
    return tx.execute(_EXPIRE, values).rowcount >= EXPIRED_AT_ONCE
