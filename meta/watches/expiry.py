"""Background removal of expired rows; servers on one database take turns."""

import structlog

from meta.commits.transactions import Transactions
from meta.config import Lifetimes, Settings
from meta.process.shutdown import Shutdown
from meta.store.deletion import lifetimes
from meta.store.deletion.lifetimes import Ages, ExpiryRule
from meta.watches import background

log = structlog.get_logger()
# In every fourth round the slow rules run as well.
SLOW_EVERY_ROUNDS = 4


class Expiry:
    """Applies all rules, round after round."""

    def __init__(self, transactions: Transactions, settings: Settings, shutdown: Shutdown) -> None:
        self._transactions = transactions
        self._ages = _ages(settings.lifetimes)
        self._shutdown = shutdown
        self._rounds = 0

    def run_round(self) -> None:
        """Apply the rules that are due; a rule that fails is applied again in its next round."""
        rules = lifetimes.FREQUENT
        if self._rounds % SLOW_EVERY_ROUNDS == 0:
            rules += lifetimes.SLOW
        self._rounds += 1
        for rule in rules:
            sweep(self._transactions, rule, self._ages, self._shutdown)


def sweep(transactions: Transactions, rule: ExpiryRule, ages: Ages, shutdown: Shutdown) -> int:
    """Apply one rule in bounded transactions; returns the number of rows it removed."""
    removed = 0

    def apply() -> None:
        nonlocal removed
        while not shutdown.is_requested:
            count = transactions.write(lambda tx: lifetimes.run(tx, rule, ages))
            removed += count or 0
            if count is None or (count < rule.rows_max and not rule.has_more_pages()):
                break

    background.attempt(rule.name, apply)
    if removed:
        log.info("rows_swept", rule=rule.name, rows=removed)
    return removed


def _ages(values: Lifetimes) -> Ages:
    return Ages(
        checkpoint=values.checkpoint,
        grace=values.tombstone_grace,
        baby_row=values.baby_row,
        retired_stream=values.retired_stream,
        identity=values.identity,
        finished_task=values.finished_task,
        audit=values.audit,
        dataset_grace=values.dataset_grace,
    )
