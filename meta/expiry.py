"""Ends the life of rows in the background, on one of the servers at a time."""

import structlog

from meta.config import Lifetimes, Settings
from meta.errors import MetaError
from meta.process import Shutdown, every
from meta.store import lifetimes
from meta.store.lifetimes import Ages, ExpiryRule
from meta.transactions import Transactions

log = structlog.get_logger()
FREQUENT_EVERY_SECS = 5.0
# Every so many rounds the slow rules run as well.
SLOW_EVERY_ROUNDS = 12


def run(transactions: Transactions, settings: Settings, shutdown: Shutdown) -> None:
    """Sweep until shutdown; a rule that fails is tried again in its next round."""
    ages = _ages(settings.lifetimes)
    for count in every(FREQUENT_EVERY_SECS, shutdown):
        rules = lifetimes.FREQUENT
        if count % SLOW_EVERY_ROUNDS == 0:
            rules += lifetimes.SLOW
        for rule in rules:
            sweep(transactions, rule, ages, shutdown)


def sweep(transactions: Transactions, rule: ExpiryRule, ages: Ages, shutdown: Shutdown) -> int:
    """Work one rule off, piece by piece; answers how many rows it took."""
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
