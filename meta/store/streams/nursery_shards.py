"""Assigns shards of streams to nurseries, for as long as their leases are renewed.

Calls are serialised by a lock on the small table of nurseries. A shard has one holder at a time,
but that is not a fence: a nursery that outlives its lease loses a race for offsets, no more.
"""

from sqlalchemy import text

from meta.store.engine.pool import Transaction

# Bounds how many nurseries can share the streams.
SHARD_COUNT = 64

_LOCK = text("LOCK TABLE nurseries IN SHARE ROW EXCLUSIVE MODE")
_EXPIRE = text("DELETE FROM nurseries WHERE lease_until <= clock_timestamp()")
_RENEW = text("""
    INSERT INTO nurseries (id, lease_until)
    VALUES (:nursery, clock_timestamp() + make_interval(secs => :lease_secs))
    ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
""")
_LEAVE = text("DELETE FROM nurseries WHERE id = :nursery")
_COUNT = text("SELECT count(*) FROM nurseries")
_OWN = text("SELECT shard FROM nursery_shards WHERE nursery_id = :nursery ORDER BY shard")
_RELEASE = text("DELETE FROM nursery_shards WHERE shard = ANY(cast(:shards AS smallint[]))")
_TAKE = text("""
    INSERT INTO nursery_shards (shard, nursery_id)
    SELECT free.shard, :nursery FROM generate_series(0, :shard_count - 1) free (shard)
    WHERE NOT EXISTS (SELECT FROM nursery_shards held WHERE held.shard = free.shard)
    ORDER BY free.shard LIMIT :most
""")


def lease(tx: Transaction, nursery_id: str, lease_secs: float, *, renew_only: bool) -> list[int]:
    """Renew a nursery's lease and return its shards.

    Unless `renew_only`, it takes free shards up to its fair share, or gives up those above it:
    after a round of calls by all nurseries the shards are even.
    """
    tx.execute(_LOCK)
    tx.execute(_EXPIRE)
    tx.execute(_RENEW, {"nursery": nursery_id, "lease_secs": lease_secs})
    shards = _shards_of(tx, nursery_id)
    if renew_only:
        return shards
    fair = -(-SHARD_COUNT // int(tx.execute(_COUNT).scalar_one()))
    if len(shards) > fair:
        tx.execute(_RELEASE, {"shards": shards[fair:]})
    elif len(shards) < fair:
        values = {"nursery": nursery_id, "shard_count": SHARD_COUNT, "most": fair - len(shards)}
        tx.execute(_TAKE, values)
    return _shards_of(tx, nursery_id)


def leave(tx: Transaction, nursery_id: str) -> None:
    """Free a nursery's shards at once."""
    tx.execute(_LEAVE, {"nursery": nursery_id})


def _shards_of(tx: Transaction, nursery_id: str) -> list[int]:
    return list(tx.execute(_OWN, {"nursery": nursery_id}).scalars())
