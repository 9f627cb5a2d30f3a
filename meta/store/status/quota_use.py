"""Use of the limits of records a month, of datasets and of creators."""

from dataclasses import dataclass

from sqlalchemy import text

from meta.store.access import creator_quotas
from meta.store.engine.pool import Transaction

_MONTH = "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')"
_READ = text(f"""
    WITH limits AS (
      SELECT 'dataset' AS kind, coalesce(u.records, 0) AS records, l.most
      FROM datasets d
        CROSS JOIN LATERAL (
          SELECT coalesce(nullif(d.records_per_month, 0), :default) AS most) l
        LEFT JOIN LATERAL (
          SELECT sum(records) AS records FROM dataset_usage
          WHERE dataset_id = d.id AND month = {_MONTH}) u ON true
      WHERE d.deleted_at IS NULL AND l.most >= 0
      UNION ALL
      SELECT 'creator', r.records, l.most
      FROM (SELECT a.created_by, sum(u.records) AS records
            FROM catalog_authors a JOIN dataset_usage u ON u.dataset_id = a.entry_id
              AND u.month = {_MONTH}
            WHERE a.created_by IS NOT NULL AND EXISTS (SELECT 1 FROM creator_quotas)
            GROUP BY a.created_by) r
        CROSS JOIN LATERAL (
          SELECT {creator_quotas.in_force("records_per_month", "r.created_by")} AS most) l
      WHERE l.most >= 0
    )
    SELECT kind, max(records::float8 / greatest(most, 1)), min(most - records)::bigint
    FROM limits GROUP BY kind ORDER BY kind
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """The largest share of a kind of limits that is used, and the fewest records that are free.

    The kind is `dataset` or `creator`; the records are below 0 where a limit is exceeded.
    """

    kind: str
    used_ratio: float
    free_records: int


def read(tx: Transaction, default: int) -> list[QuotaUse]:
    """Return the use of the limits of datasets, `default` if they have none, and of creators.

    A limit of -1 is none, and a kind without limits is missing.
    """
    return [QuotaUse(*row) for row in tx.execute(_READ, {"default": default})]
