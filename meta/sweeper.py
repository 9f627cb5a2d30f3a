"""Ends the life of rows in the background, on one of the servers at a time."""

import structlog

from meta.config import Lifetimes, Settings
from meta.errors import MetaError
from meta.process import Shutdown, every
from meta.rpc import Transactions
from meta.store import lifetimes
from meta.store.lifetimes import Ages, Chore

log = structlog.get_logger()
FREQUENT_EVERY_SECS = 5.0
# Every so many rounds the slow chores run as well.
SLOW_EVERY_ROUNDS = 12


def run(transactions: Transactions, settings: Settings, shutdown: Shutdown) -> None:
    """Sweep until shutdown; a chore that fails is tried again in its next round."""
    ages = _ages(settings.lifetimes)
    for count in every(FREQUENT_EVERY_SECS, shutdown):
        chores = lifetimes.FREQUENT
        if count % SLOW_EVERY_ROUNDS == 0:
            chores += lifetimes.SLOW
        for chore in chores:
            sweep(transactions, chore, ages, shutdown)


def sweep(transactions: Transactions, chore: Chore, ages: Ages, shutdown: Shutdown) -> int:
    """Work one chore off, piece by piece; answers how many rows it took."""
    taken = 0
    while not shutdown.is_requested:
        try:
            count = transactions.write(lambda tx: lifetimes.run(tx, chore, ages))
        except MetaError as error:
            log.warning("chore_failed", chore=chore.name, error=str(error))
            break
        taken += count or 0
        if count is None or count < chore.rows_max:
            break
    if taken:
        log.info("rows_swept", chore=chore.name, rows=taken)
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
