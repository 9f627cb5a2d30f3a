"""Background removal of expired pins, and the gauges of those that are left."""

import structlog

from meta import metrics
from meta.commits.transactions import Transactions
from meta.store.pins import pin_lists

log = structlog.get_logger()
PAUSE_SECS = 15.0


class PinWatch:
    """Counts the pins of the database; every server does."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def run_round(self) -> None:
        """Remove expired pins and set the gauges."""
        removed = self._transactions.write(pin_lists.forget_expired)
        if removed:
            log.info("pins_expired", pins=removed)
        totals = self._transactions.read(pin_lists.totals)
        metrics.PINS.set(totals.number)
        metrics.PIN_HELD_BYTES.set(totals.held_bytes)
        metrics.PIN_AGE_SECONDS.set(totals.oldest_secs)
