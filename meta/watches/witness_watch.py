"""The start of the witness, and its rounds: a tick while anything commits, and the comparison.

An idle database costs a small query a round and nothing in the bucket. Under load there is a tick
every few seconds, whichever server commits it.
"""

import time

import structlog

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import MetaError
from meta.store.engine.pool import Database
from meta.store.versions import witness_state
from meta.store.versions.witness_state import WitnessStatus
from meta.watches import witness_metrics
from meta.watches.witness import Witness

log = structlog.get_logger()
TICK_SECS = 5.0
# A database without a witness tries to begin one.
BEGIN_SECS = 60.0


def begin(database: Database, settings: Settings) -> None:
    """Compare the database with its witness before the first call is answered.

    A server without a bucket keeps none. One whose bucket does not answer serves reads; it draws
    versions once it has compared them, or if the database never had a witness.
    """
    if not settings.keeps_witness:
        log.warning("witness_not_kept", reason="META_OBJECT_STORE_URL is not set")
        return
    guard = Witness(
        database, settings.database, settings.location, revokes_all=settings.revokes_on_restore
    )
    database.continuity.guard = guard
    try:
        guard.renew()
        # It covers the commits of a server that crashed; if it is too early, the first round does,
        # because every server begins with a change.
        guard.tick(TICK_SECS)
    except MetaError as error:
        # Another server's lock is one: a server that answers reads must not end because of it.
        log.warning("witness_not_read", error=error.message)


class WitnessWatch:
    """One server's rounds."""

    def __init__(self, database: Database, tick_secs: float = TICK_SECS) -> None:
        self._tick_secs = tick_secs
        self._database = database
        self._transactions = Transactions(database)
        self._began_at = float("-inf")

    def run_round(self) -> bool:
        """Set the gauges; compare, and tick if something was committed. False if nothing was."""
        status = self._transactions.read(witness_state.status)
        memory = self._database.continuity
        guard = memory.guard
        witness_metrics.show(status, is_kept=guard is not None)
        if guard is None or not self._is_due(status):
            return False
        guard.check()
        if memory.must_look:
            guard.look()
        has_changed = memory.has_changed
        if has_changed:
            memory.has_changed = False
            try:
                is_covered = guard.tick(self._tick_secs)
            except MetaError:
                memory.has_changed = True
                raise
            if not is_covered:
                memory.has_changed = True
        return has_changed

    def _is_due(self, status: WitnessStatus) -> bool:
        """False between two attempts to begin the witness of a database that has none."""
        if status.history is not None:
            return True
        if time.monotonic() < self._began_at + BEGIN_SECS:
            return False
        self._began_at = time.monotonic()
        return True


def end(database: Database) -> None:
    """Copy a last tick, so that nothing that this server committed can be lost unnoticed."""
    guard = database.continuity.guard
    if guard is None:
        return
    try:
        if database.continuity.has_changed:
            guard.tick(0.0)
    except MetaError as error:
        log.warning("witness_not_written", error=error.message)
    guard.close()
