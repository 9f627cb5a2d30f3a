"""Quota of live datasets of one creator, in addition to that of all creators together."""

from uuid import UUID

from sqlalchemy import text

from meta.errors import QuotaExceeded
from meta.store.engine.pool import Transaction

_COUNT = text("""
    SELECT own.created_by, (
        SELECT count(*) FROM catalog_authors a JOIN datasets d ON d.id = a.entry_id
        WHERE a.created_by = own.created_by AND d.deleted_at IS NULL)
    FROM catalog_authors own WHERE own.entry_id = :dataset AND own.created_by IS NOT NULL
""")


def check(tx: Transaction, dataset_id: UUID, most: int) -> None:
    """Raise QuotaExceeded if the creator of a dataset has more than `most`; 0 = no quota.

    Behind the lock of the counter of versions, which creations take one after the other. Datasets
    of which no creator is known, such as those of release 0.1.0, count for nobody.
    """
    row = tx.execute(_COUNT, {"dataset": dataset_id}).one_or_none() if most else None
    if row is not None and row[1] > most:
        raise QuotaExceeded(
            f"{row[0]!r} has created {most} datasets already, the most of one creator"
            " (META_DATASETS_PER_CREATOR_MAX)",
            limit=most,
        )
