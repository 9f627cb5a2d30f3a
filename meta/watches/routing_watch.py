"""Background progress of routing changes that their calls have left; servers take turns."""

from meta.commits.transactions import Transactions
from meta.process import Shutdown
from meta.store.streams import routing

PAUSE_SECS = 1.0
# While none is left; a change counts as left after a minute.
IDLE_SECS_MAX = 8.0


class RoutingWatch:
    """Lets streams follow the routing of their tokens."""

    def __init__(self, transactions: Transactions, shutdown: Shutdown) -> None:
        self._transactions = transactions
        self._shutdown = shutdown

    def run_round(self) -> bool:
        """Finish all changes that were left, a page of streams in each transaction.

        False if there was none.
        """
        is_any = False
        while not self._shutdown.is_requested and self._transactions.write(routing.carry_on_left):
            is_any = True
        return is_any
