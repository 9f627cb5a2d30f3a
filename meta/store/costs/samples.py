"""Samples of the bytes that each dataset stores: byte-days of the ledger, a quarter each.

A sample goes through the datasets by their keys, a page a transaction, so that servers take turns
and a crash repeats no page.
"""

from sqlalchemy import text

from meta.store.costs.ledger import STORED
from meta.store.engine.pool import Transaction

DATASETS_AT_ONCE = 5_000
PERIOD_HOURS = 6
SAMPLES_A_DAY = 24 // PERIOD_HOURS
_DONE = 2**31 - 1

_PERIOD = f"date_bin('{PERIOD_HOURS} hours', now(), '2000-01-01T00:00:00Z'::timestamptz)"
_BEGIN = text(f"""
    INSERT INTO cost_samples (period_at, last_key) VALUES ({_PERIOD}, -1) ON CONFLICT DO NOTHING
""")  # noqa: S608
_NEXT = text(f"""
    SELECT last_key FROM cost_samples WHERE period_at = {_PERIOD} AND last_key < {_DONE}
    FOR UPDATE SKIP LOCKED
""")  # noqa: S608
_PAGE = text(f"""
    WITH page AS MATERIALIZED (
      SELECT dataset_key, live_compressed_size_bytes AS size FROM dataset_stats
      WHERE dataset_key > :last_key ORDER BY dataset_key LIMIT :most
    ), sampled AS (
      INSERT INTO costs AS c
        (day, tenant_key, dataset_id, kind, bytes, read_requests, write_requests, cpu_micros)
      SELECT ({_PERIOD} AT TIME ZONE 'UTC')::date, d.tenant_key, d.id, {STORED},
        p.size / {SAMPLES_A_DAY}, 0, 0, 0
      FROM page p JOIN datasets d ON d.key = p.dataset_key WHERE p.size > 0
      ORDER BY 1, 2, 3, 4
      ON CONFLICT (day, tenant_key, dataset_id, kind) DO UPDATE SET bytes = c.bytes + excluded.bytes
    )
    UPDATE cost_samples s
    SET last_key = CASE WHEN p.number < :most THEN {_DONE} ELSE p.last_key END
    FROM (SELECT count(*) AS number, max(dataset_key) AS last_key FROM page) p
    WHERE s.period_at = {_PERIOD}
    RETURNING s.last_key
""")  # noqa: S608
_EXPIRE = text(f"DELETE FROM cost_samples WHERE period_at < {_PERIOD}")  # noqa: S608


def take_page(tx: Transaction) -> bool:
    """Take the next page of the present sample; False if it is done, or another server does it."""
    tx.execute(_BEGIN)
    last_key = tx.execute(_NEXT).scalar_one_or_none()
    if last_key is None:
        return False
    tx.execute(_PAGE, {"last_key": last_key, "most": DATASETS_AT_ONCE})
    tx.execute(_EXPIRE)
    return True
