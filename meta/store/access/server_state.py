"""The one row of meta_state, as operators read it."""

from dataclasses import dataclass

from sqlalchemy import text

from meta.errors import DeletionHeld
from meta.store.access import audit
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.engine.timelines import IS_HELD, IS_LOCK_AWAITED
from meta.store.versions import versions


@dataclass(frozen=True, slots=True)
class ServerState:
    """The counter, whether deletion is held, the highest horizon of the caller's datasets."""

    version: int
    deletion_held: bool
    deletion_horizon: int
    database_time_nanos: int


_READ = scope.statement(f"""
    SELECT version, {IS_HELD},
           greatest(gap_end, (
             SELECT coalesce(max(deletion_horizon), 0) FROM datasets
             WHERE (cast(:visible AS uuid[]) IS NULL OR id = ANY(:visible))
               AND {scope.reaches("datasets")})),
           (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint
    FROM meta_state
""")  # noqa: S608
_IS_HELD = text(f"SELECT {IS_HELD}, {IS_LOCK_AWAITED} FROM meta_state")  # noqa: S608
_HOLD = text("UPDATE meta_state SET deletion_held = true WHERE NOT deletion_held")
_RELEASE = text("UPDATE meta_state SET deletion_held = false WHERE deletion_held")


def read(tx: Transaction) -> ServerState:
    """The state at this transaction's snapshot. Raises TimelineChanged."""
    versions.current(tx)
    return ServerState(*tx.execute(_READ, {"visible": scope.visible_ids()}).one())


def check_deletion_allowed(tx: Transaction) -> None:
    """Raise DeletionHeld while an operator, or a failover or restore, holds deletion."""
    is_held, is_lock_awaited = tx.execute(_IS_HELD).one()
    if is_lock_awaited:
        raise DeletionHeld(
            "a locked dataset is not known since a restore: `segplane catalog reconcile` brings it"
            " back, then release"
        )
    if is_held:
        raise DeletionHeld(
            "deletion is held, by hand or after a failover or restore: run fsck, then release"
        )


def hold_deletion(tx: Transaction) -> bool:
    """Hold all deletion and reaping; False if they were held."""
    held = tx.execute(_HOLD).rowcount > 0
    if held:
        audit.note(tx, "HoldDeletion", "")
    return held


def release_deletion_hold(tx: Transaction) -> bool:
    """Allow deletion again; False if it was allowed."""
    released = tx.execute(_RELEASE).rowcount > 0
    if released:
        audit.note(tx, "ReleaseDeletionHold", "")
    return released
