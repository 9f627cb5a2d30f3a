"""Days of the ledger become months, and months are forgotten."""

from sqlalchemy import text

from meta.store.costs.ledger import ADDED, TOTAL_MAX
from meta.store.engine.pool import Transaction

DAYS_KEPT = 62
MONTHS_KEPT = 36
ROWS_AT_ONCE = 5_000

_KEY = "tenant_key, dataset_id, kind"
_NUMBERS = ("bytes", "read_requests", "write_requests", "cpu_micros")
_TODAY = "(now() AT TIME ZONE 'UTC')::date"
# Rows that another server moves now are skipped; sums are written in the order of their key.
_ROLL_UP = text(f"""
    WITH due AS MATERIALIZED (
      SELECT day, {_KEY} FROM costs WHERE day < {_TODAY} - {DAYS_KEPT}
      ORDER BY day, {_KEY} LIMIT :most FOR UPDATE SKIP LOCKED
    ), moved AS (
      DELETE FROM costs c USING due d
      WHERE c.day = d.day AND c.tenant_key = d.tenant_key AND c.dataset_id = d.dataset_id
        AND c.kind = d.kind
      RETURNING c.*
    ), added AS (
      INSERT INTO cost_months AS c (month, {_KEY}, {", ".join(_NUMBERS)})
      SELECT date_trunc('month', day)::date, {_KEY},
        {", ".join(f"least(sum({name}), {TOTAL_MAX})::bigint" for name in _NUMBERS)}
      FROM moved GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT (month, {_KEY}) DO UPDATE SET {ADDED}
    )
    SELECT count(*) FROM moved
""")  # noqa: S608
_EXPIRE = text(f"""
    DELETE FROM cost_months WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM cost_months WHERE month < {_TODAY} - make_interval(months => {MONTHS_KEPT})
      ORDER BY month LIMIT :most))
""")  # noqa: S608


def roll_up(tx: Transaction) -> bool:
    """Move a page of days to their months; True if there may be more."""
    moved = int(tx.execute(_ROLL_UP, {"most": ROWS_AT_ONCE}).scalar_one())
    return moved == ROWS_AT_ONCE


def expire(tx: Transaction) -> bool:
    """Forget a page of old months; True if there may be more."""
    return tx.execute(_EXPIRE, {"most": ROWS_AT_ONCE}).rowcount == ROWS_AT_ONCE
