"""Background progress of rewrites; servers on one database take turns."""

from meta.commits.transactions import Transactions
from meta.process import Shutdown
from meta.store.rewrites import rewrite_advance

PAUSE_SECS = 1.0
# While none is due: a new one begins so much later at most.
IDLE_SECS_MAX = 8.0
# Steps of one round, so that a shutdown does not wait for many.
STEPS_MAX = 200
EXPIRE_EVERY_ROUNDS = 600


class RewriteWatch:
    """Advances the rewrites that are due."""

    def __init__(
        self, transactions: Transactions, finished_age_secs: float, shutdown: Shutdown
    ) -> None:
        self._transactions = transactions
        self._finished_age_secs = finished_age_secs
        self._shutdown = shutdown
        self._rounds = 0

    def run_round(self) -> bool:
        """Advance each rewrite that is due once, in a transaction each; now and then expire.

        False if none was due.
        """
        if self._rounds % EXPIRE_EVERY_ROUNDS == 0:
            age_secs = self._finished_age_secs
            self._transactions.write(lambda tx: rewrite_advance.expire(tx, age_secs))
        self._rounds += 1
        for step in range(STEPS_MAX):
            if self._shutdown.is_requested or not self._transactions.write(rewrite_advance.advance):
                return step > 0
        return True
