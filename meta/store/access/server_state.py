"""The one row of meta_state, as operators read it."""

from dataclasses import dataclass

from sqlalchemy import text

from meta.errors import DeletionHeld
from meta.store.access import audit
from meta.store.engine import dataset_scope
from meta.store.engine.pool import Transaction
from meta.store.engine.timelines import IS_CURRENT
from meta.store.versions import versions


@dataclass(frozen=True, slots=True)
class ServerState:
    """The counter, whether deletion is held, the highest horizon of the caller's datasets."""

    version: int
    deletion_held: bool
    deletion_horizon: int
    database_time_nanos: int


_READ = text("""
    SELECT version, deletion_held,
           greatest(gap_end, (
             SELECT coalesce(max(deletion_horizon), 0) FROM datasets
             WHERE cast(:visible AS uuid[]) IS NULL OR id = ANY(:visible))),
           (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint
    FROM meta_state
""")
_IS_HELD = text(f"SELECT deletion_held OR {IS_CURRENT} IS NOT TRUE FROM meta_state")  # noqa: S608
_RELEASE = text("UPDATE meta_state SET deletion_held = false WHERE deletion_held")


def read(tx: Transaction) -> ServerState:
    """The state at this transaction's snapshot. Raises TimelineChanged."""
    versions.current(tx)
    return ServerState(*tx.execute(_READ, {"visible": dataset_scope.visible_ids()}).one())


def check_deletion_allowed(tx: Transaction) -> None:
    """Raise DeletionHeld after a failover or restore that no operator has checked yet."""
    if tx.execute(_IS_HELD).scalar_one():
        raise DeletionHeld("deletion is held after a failover or restore: run fsck, then release")


def release_deletion_hold(tx: Transaction) -> bool:
    """Allow deletion again; False if it was allowed."""
    released = tx.execute(_RELEASE).rowcount > 0
    if released:
        audit.note(tx, "ReleaseDeletionHold", "")
    return released
