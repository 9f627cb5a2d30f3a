"""Keeper of the witness: compares the database with it, begins terms, copies ticks.

Several servers share one database and one witness. Each does all of this, in any order: every write
to the bucket is put-if-absent and looked at again, every write to the database compares and moves.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn, TypeVar
from uuid import uuid4

import structlog

from meta.commits.transactions import Transactions
from meta.errors import Unavailable
from meta.store.access import audit
from meta.store.engine.pool import Database, DatabaseSettings, Transaction
from meta.store.versions import witness_state
from meta.store.versions.witness import (
    CEILING_STEP,
    Mark,
    Side,
    Superseded,
    Verdict,
    WitnessView,
    compare,
    first_mark,
    is_in_force,
    is_overtaken,
)
from meta.watches import forgotten, witness_metrics
from meta.watches.tenant_notes import TenantNotes
from meta.watches.witness_log import WitnessLog
from meta.watches.witness_notes import WitnessNotes
from segments.location import StoreLocation
from segments.store.open import open_store

Result = TypeVar("Result")
log = structlog.get_logger()
ATTEMPTS_MAX = 20
# A failure is the answer for this long: calls do not wait for the bucket one after the other.
RETRY_SECS = 2.0
TURN_SECS = 3.0
SUPERSEDED = (
    "another database has taken over the bucket (history {history} of the witness), so this one"
    " writes and deletes nothing: stop one of the two; if this one is to continue, run"
    " `segplane deletion --hold --take-over`"
)


class Witness:
    """One server's keeper, with its own connection: those of the pool may wait for it."""

    def __init__(
        self,
        database: Database,
        settings: DatabaseSettings,
        location: StoreLocation,
        *,
        revokes_all: bool = False,
    ) -> None:
        self._memory = database.continuity
        self._database = Database(replace(settings, pool_size=1))
        self.close = self._database.close
        self._transactions = Transactions(self._database, is_of_calls=False)
        store = open_store(location, is_brief=True)
        self._log = WitnessLog(store)
        self._tenants = TenantNotes(database, store)
        self.notes = WitnessNotes(self._log, self._tenants, self._has_begun, self.tick)
        self._revokes_all = revokes_all
        self._lock = threading.RLock()
        self._failed_at = float("-inf")
        self._failure = ""
        # The highest mark as this process last saw it, and when it looked.
        self._newest: Mark | None = None
        self._looked_at = float("-inf")

    def renew(self) -> None:
        """Compare the database with the witness and let it draw versions.

        Raises Unavailable if the bucket does not answer, or another database has taken over.
        """
        with self._turn():
            if not self._read().is_due:
                return
            if time.monotonic() < self._failed_at + RETRY_SECS:
                raise Unavailable(self._failure)
            try:
                self._begin_term()
            except Unavailable as error:
                self._failed_at, self._failure = time.monotonic(), error.message
                raise

    def look(self, age_secs_max: float = 0.0) -> None:
        """Compare with the witness, unless that was done `age_secs_max` ago. Raises Unavailable."""
        if time.monotonic() < self._looked_at + age_secs_max:
            return
        with self._turn():
            if time.monotonic() < self._looked_at + age_secs_max:
                return
            self._memory.must_look = False
            side = self._read()
            if side.history is not None:
                self._look(side)

    def tick(self, secs: float) -> bool:
        """Commit a tick if the last one is `secs` old, and copy it to the witness; else False."""
        with self._turn():
            newest = self._newest
            if self._write(lambda tx: witness_state.tick(tx, secs, newest)) is None:
                return False
            self._publish()
            return True

    def check(self) -> None:
        """Compare the database with this process's memory, and raise a ceiling that comes near."""
        with self._turn():
            side = self._read()
            if side.superseded_by is not None:
                self._stop(side.superseded_by)
            self._memory.refusal = ""
            if side.is_due:
                self.renew()
            elif side.ceiling - side.version < CEILING_STEP // 2:
                self._publish()

    def take_over(self) -> bool:
        """Begin a history with a database that was superseded; False if it was not."""
        with self._turn():
            if not self._write(_take_over):
                return False
            self._memory.refusal = ""
            self._failed_at = float("-inf")
            self.renew()
            return True

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Take turns; a caller does not wait for a bucket that hangs under another one."""
        if not self._lock.acquire(timeout=TURN_SECS):
            raise Unavailable("the witness in the bucket is being used; try again")
        try:
            yield
        finally:
            self._lock.release()

    def _has_begun(self) -> bool:
        with self._turn():
            return self._read().history is not None

    def _begin_term(self) -> None:
        reason = ""
        for _ in range(ATTEMPTS_MAX):
            if not (side := self._read()).is_due:
                return
            view = self._log.view(side.history)
            if self._read().has_moved(side):
                continue
            verdict = compare(side, view)
            if isinstance(verdict, Superseded):
                self._stop(verdict.history)
            # A repeated attempt finds its own mark, and no longer what made it necessary.
            reason = reason or verdict.reason
            if verdict.is_restored:
                verdict = replace(verdict, reason=reason)
            if self._is_begun(side, view, verdict):
                return
        raise Unavailable("the witness is being written by others; try again")

    def _is_begun(self, side: Side, view: WitnessView, verdict: Verdict) -> bool:
        """Write the term to the database, to the witness, and to the database; False: try again."""
        next_term = side.next_term or uuid4()
        if not self._write(lambda tx: witness_state.intend(tx, side, next_term)):
            return False
        side = replace(side, next_term=next_term)
        mark = first_mark(side, view, verdict)
        if not self._log.write(mark):
            return False
        after = self._log.view(side.history)
        if not is_in_force(mark, view, after):
            return False
        changes = forgotten.read(self._log, self._tenants, self._write)

        def work(tx: Transaction) -> bool:
            if not witness_state.begin_term(tx, side, verdict, mark):
                return False
            forgotten.repeat(tx, verdict, changes, revokes_all=self._revokes_all)
            return True

        if not self._write(work):
            return False
        begun = self._read()
        self._newest, self._looked_at = after.newest, time.monotonic()
        self._memory.forget(begun.version, begun.tick)
        witness_metrics.log_term(side, verdict, begun)
        return True

    def _publish(self) -> None:
        """Copy the committed tick to the witness, and raise the ceiling if that is due."""
        for _ in range(ATTEMPTS_MAX):
            side = self._read()
            newest = self._newest
            if newest is None or newest.history != side.history:
                newest = self._look(side)
            ceiling = max(newest.ceiling, side.ceiling)
            if ceiling - side.version < CEILING_STEP // 2:
                ceiling = side.version + CEILING_STEP
            if newest.tick >= side.tick and newest.ceiling >= ceiling:
                # Another server copied this tick with a later one.
                self._obey(side, newest)
                return
            mark = Mark(newest.history, newest.number + 1, side.tick, ceiling, newest.term)
            self._log.write(mark)
            newest = self._look(side)
            if newest.tick >= mark.tick and newest.ceiling >= mark.ceiling:
                self._obey(side, newest)
                return
        raise Unavailable("the witness is being written by others; try again")

    def _obey(self, side: Side, newest: Mark) -> None:
        """Let versions be drawn up to a ceiling that the witness has."""
        term = side.term
        if term is not None and newest.ceiling > side.ceiling:
            self._write(lambda tx: witness_state.raise_ceiling(tx, term, newest.ceiling))

    def _look(self, side: Side) -> Mark:
        """Read the highest mark and compare a running database with it."""
        # Ticks are copied after their commit, so the database is read after the witness.
        before, view, side = side, self._log.view(side.history), self._read()
        if side.has_moved(before):
            return self._look(side)
        newest = view.newest
        if newest is None or newest.number < side.number or newest.history < (side.history or 0):
            self._memory.is_suspect = True
        elif is_overtaken(side, newest):
            self._stop(newest.history)
        elif newest.tick > side.tick:
            self._memory.is_suspect = True
        else:
            self._newest, self._looked_at = newest, time.monotonic()
            return newest
        self.renew()
        raise Unavailable("the database was compared with its witness in between; try again")

    def _stop(self, history: int) -> NoReturn:
        self._memory.refusal = SUPERSEDED.format(history=history)
        self._write(lambda tx: witness_state.supersede(tx, history))
        log.error("database_superseded", history=history)
        raise Unavailable(self._memory.refusal)

    def _read(self) -> Side:
        """The database's facts, and whether this process has seen it further on."""
        floor = self._memory.floor()
        side = self._write(_read_current)
        went_back = self._memory.is_below(floor, side.version, side.tick)
        return replace(side, went_back=went_back)

    def _write(self, work: Callable[[Transaction], Result]) -> Result:
        try:
            return self._transactions.write(work)
        except Unavailable:
            # A connection from before a restart of Postgres; a statement that was not answered may
            # be repeated, because each of them compares and moves.
            self._database.engine.dispose()
            return self._transactions.write(work)


def _read_current(tx: Transaction) -> Side:
    witness_state.check_timeline(tx)
    return witness_state.read(tx)


def _take_over(tx: Transaction) -> bool:
    is_taken = witness_state.take_over(tx)
    if is_taken:
        audit.note(tx, "TakeOver", "")
    return is_taken
