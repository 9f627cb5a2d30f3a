"""A restored copy that is inspected: what its backup does not keep is no part of it."""

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.streams import detached_streams

# Objects that were hidden before the version were kept for readers of older versions only.
_EXPIRE = text("""
    UPDATE datasets SET deletion_horizon = greatest(deletion_horizon, :version),
                        pins_horizon = greatest(deletion_horizon, :version)
""")
_END_PINS = text("DELETE FROM pins")
# The witness in the bucket is of the database that was copied, which may be running.
_FORGET_WITNESS = (
    text("UPDATE meta_state SET ceiling = NULL, incarnation = NULL"),
    text("UPDATE witness_state SET history = NULL, number = 0, term = NULL, next_term = NULL"),
)
# Of connections from then on.
_FREEZE = text("""
    DO $$ BEGIN
      EXECUTE format(
        'ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
    END $$
""")


def prepare(tx: Transaction, version: int) -> None:
    """Bring a private copy into the state of a restore at a version, and make it read-only."""
    tx.execute(_EXPIRE, {"version": version})
    tx.execute(_END_PINS)
    for statement in _FORGET_WITNESS:
        tx.execute(statement)
    detached_streams.detach_all(tx)
    tx.execute(_FREEZE)
