"""Background progress of routing changes that their calls have left; servers take turns."""

from meta.commits.transactions import Transactions
from meta.process import Shutdown
from meta.store.streams import routing

PAUSE_SECS = 1.0


class RoutingWatch:
    """Lets streams follow the routing of their tokens."""

    def __init__(self, transactions: Transactions, shutdown: Shutdown) -> None:
        self._transactions = transactions
        self._shutdown = shutdown

    def run_round(self) -> None:
        """Finish all changes that were left, a page of streams in each transaction."""
        while not self._shutdown.is_requested:
            if not self._transactions.write(routing.carry_on_left):
                return
