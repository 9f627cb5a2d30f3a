"""Transactions: opened, committed and, after a conflict, run again here and nowhere else."""

import random
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from meta import access, metrics
from meta.errors import RaceLost, Unavailable
from meta.store.engine.pool import Conflict, Database, DrawRefused, TimelineChanged, Transaction

Result = TypeVar("Result")
ATTEMPTS_MAX = 6
# Precedes the work of each write of the current call, in the same transaction; None = nothing does.
precondition: ContextVar[Callable[[Transaction], None] | None] = ContextVar(
    "precondition", default=None
)


class Transactions:
    """Runs the work of an RPC in one transaction; `work` may run several times.

    `is_of_calls` is false for those of the server itself, which a call may make on its way: they
    have no precondition, and reach all tenants.
    """

    def __init__(self, database: Database, *, is_of_calls: bool = True) -> None:
        self.database = database
        self._is_of_calls = is_of_calls

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Run `work` and commit it, READ COMMITTED; run it again after a conflict.

        Raises RaceLost after the last attempt, Unavailable if Postgres does not answer.
        """
        if self._is_of_calls:
            return self._write(work, precondition.get())
        with access.as_server():
            return self._write(work, None)

    def _write(
        self, work: Callable[[Transaction], Result], check: Callable[[Transaction], None] | None
    ) -> Result:
        for attempt in range(ATTEMPTS_MAX):
            try:
                with self.database.write() as tx:
                    if check is not None:
                        check(tx)
                    return work(tx)
            except Conflict as conflict:
                metrics.TX_RETRIES.labels(conflict.sqlstate).inc()
                if isinstance(conflict, DrawRefused):
                    self.database.continuity.renew()
                # The pause has jitter, so that two conflicting transactions do not conflict again.
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        raise RaceLost(f"the call met conflicting calls {ATTEMPTS_MAX} times; try again")

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Run `work` on one REPEATABLE READ snapshot; see `read_again`."""

        def read() -> Result:
            with self.database.read() as tx:
                return work(tx)

        if self._is_of_calls:
            return self.read_again(read)
        with access.as_server():
            return self.read_again(read)

    def read_again(self, read: Callable[[], Result]) -> Result:
        """Run a read, and once more after a conflict.

        Reads wait for locks or have stale plans only while the schema changes. Raises Unavailable.
        """
        try:
            return read()
        except TimelineChanged:
            self.database.adopt_timeline()
        except Conflict as conflict:
            metrics.TX_RETRIES.labels(conflict.sqlstate).inc()
        try:
            return read()
        except Conflict as conflict:
            raise Unavailable(
                "the tables are locked, for example by a migration", sqlstate=conflict.sqlstate
            ) from conflict
