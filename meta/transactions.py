"""The only place that owns a transaction: opens, commits, and runs lost races again."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from meta import metrics
from meta.errors import RaceLost
from meta.store.engine import Conflict, Database, Transaction

Result = TypeVar("Result")
ATTEMPTS_MAX = 6


class Transactions:
    """Runs one RPC's work in one transaction; `work` may run several times, so it only computes."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Run and commit `work`, READ COMMITTED; conflicts by SQLSTATE are run again.

        Raises RaceLost once the attempts are used up, Unavailable if the database is away.
        """
        for attempt in range(ATTEMPTS_MAX):
            try:
                with self.database.write() as tx:
                    return work(tx)
            except Conflict as conflict:
                metrics.TX_RETRIES.labels(conflict.sqlstate).inc()
                # Jittered, so that two that met once do not meet again.
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        raise RaceLost("the call kept losing against others; try again")

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """Run `work` on one REPEATABLE READ snapshot."""
        with self.database.read() as tx:
            return work(tx)
