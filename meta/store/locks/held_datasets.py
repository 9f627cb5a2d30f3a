"""Datasets under a lock, as the loops that delete see them.

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


def is_held(dataset: str, ahead: str = "") -> str:
    """True of a row of datasets under a lock that is in force or has ended a moment ago.

    With `ahead`, as in " - x", it will be held in so many seconds.
    """
    return f"coalesce({dataset}.hold_ends_at > {ago(f'{AFTER_SECS}{ahead}')}, false)"


_AMONG = text(
    f"SELECT key FROM datasets d WHERE key = ANY(:keys) AND {is_held('d')}"  # noqa: S608
).bindparams(bindparam("keys", type_=ARRAY(Integer)))


def among(tx: Transaction, keys: Collection[int]) -> set[int]:
    """Those of some datasets that are held; the caller holds their rows."""
    return set(tx.execute(_AMONG, {"keys": list(keys)}).scalars()) if keys else set()
