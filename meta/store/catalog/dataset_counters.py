"""The row of a dataset's maintained counters, which `meta.store.segments.stats` keeps."""

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.versions.upgrades import IS_FINISHED

# Records are counted from the beginning only if no server of 0.3.0 can write segments. An upgrade
# is finished under the lock of the counter of versions.
_BEGIN = text(
    "INSERT INTO dataset_stats (dataset_key, records_counted)"  # noqa: S608
    f" VALUES (:key, {IS_FINISHED})"
)


def begin(tx: Transaction, dataset_key: int) -> None:
    """Write the counters of a new dataset; call it once its version is drawn."""
    tx.execute(_BEGIN, {"key": dataset_key})
