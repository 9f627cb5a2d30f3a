"""Background removal of expired rows; servers on one database take turns."""

import time

import structlog

from meta import metrics
from meta.config import Lifetimes, Settings
from meta.errors import MetaError
from meta.process import Shutdown, every
from meta.store import database_clock, lifetimes
from meta.store.lifetimes import Ages, ExpiryRule
from meta.transactions import Transactions

log = structlog.get_logger()
FREQUENT_EVERY_SECS = 5.0
# In every twelfth round the slow rules run as well.
SLOW_EVERY_ROUNDS = 12


def run(transactions: Transactions, settings: Settings, shutdown: Shutdown) -> None:
    """Apply all rules until shutdown; a rule that fails is applied again in its next round."""
    ages = _ages(settings.lifetimes)
    for count in every(FREQUENT_EVERY_SECS, shutdown):
        rules = lifetimes.FREQUENT
        if count % SLOW_EVERY_ROUNDS == 0:
            rules += lifetimes.SLOW
        for rule in rules:
            sweep(transactions, rule, ages, shutdown)
        _measure_skew(transactions)


def sweep(transactions: Transactions, rule: ExpiryRule, ages: Ages, shutdown: Shutdown) -> int:
    """Apply one rule in bounded transactions; returns the number of rows it removed."""
    taken = 0
    # `chore` is the field's name in release 0.1.0, kept for one release.
    rule_log = log.bind(rule=rule.name, chore=rule.name)
    while not shutdown.is_requested:
        try:
            count = transactions.write(lambda tx: lifetimes.run(tx, rule, ages))
        except MetaError as error:
            rule_log.warning("chore_failed", error=str(error))
            break
        taken += count or 0
        if count is None or count < rule.rows_max:
            break
    if taken:
        rule_log.info("rows_swept", rows=taken)
    return taken


def _measure_skew(transactions: Transactions) -> None:
    try:
        database_nanos = transactions.read(database_clock.now_nanos)
    except MetaError as error:
        log.warning("clock_skew_unknown", error=str(error))
        return
    metrics.CLOCK_SKEW["meta"].set((time.time_ns() - database_nanos) / 1e9)


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
