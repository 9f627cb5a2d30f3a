"""Datasets under a lock or of a suspended tenant, as the loops that delete see them.

`datasets.hold_ends_at` repeats the end of the dataset's lock: null if there never was one, infinity
while it has no end. It stands in the row that such a loop locks, so that a lock and a deletion race
through one row, and the one that waited sees what the other has left.
"""

from collections.abc import Collection

from sqlalchemy import ARRAY, Integer, bindparam, text

from meta.store.engine.pool import Transaction
from meta.store.versions.clock import ago

# A deletion that fell due under a lock is made so long after its end at the earliest.
AFTER_SECS = 86_400

_SUSPENDED = "suspended_at IS NOT NULL AND deleted_at IS NULL"


def is_held(dataset: str, ahead: str = "") -> str:
    """True of a row of datasets that keeps its records: it is locked, or its tenant suspended.

    With `ahead`, as in " - x", it will be held in so many seconds.
    """
    return f"({is_locked(dataset, ahead)} OR {is_suspended(dataset)})"


def is_locked(dataset: str, ahead: str = "") -> str:
    """True of a row of datasets under a lock that is in force or has ended a moment ago."""
    return f"coalesce({dataset}.hold_ends_at > {ago(f'{AFTER_SECS}{ahead}')}, false)"


def is_suspended(dataset: str) -> str:
    """True of a row of datasets whose tenant is suspended; a deletion of the tenant counts more."""
    suspended = f"SELECT key FROM tenants WHERE {_SUSPENDED}"  # noqa: S608
    return f"{dataset}.tenant_key IN ({suspended})"


_AMONG = text(
    f"SELECT key FROM datasets d WHERE key = ANY(:keys) AND {is_held('d')}"  # noqa: S608
).bindparams(bindparam("keys", type_=ARRAY(Integer)))


def among(tx: Transaction, keys: Collection[int]) -> set[int]:
    """Those of some datasets that are held; the caller holds their rows."""
    return set(tx.execute(_AMONG, {"keys": list(keys)}).scalars()) if keys else set()
