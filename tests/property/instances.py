"""Two meta instances over one database, called in turns."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlalchemy import text

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import MetaError
from meta.server import server
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.tables import metadata
from meta.watches.clock_watch import OBSERVE_PAUSE_SECS, ClockWatch

Reply = TypeVar("Reply")
Call = Callable[[MetaClient], Reply]
# The counter goes on, so that versions of one run are never another's, and so does the clock.
_KEPT = {"meta_state", "clock_state", "clock_gaps", "witness_state"}


@dataclass
class Instances:
    """Clients of the instances; each call goes to the next one."""

    clients: tuple[MetaClient, MetaClient]
    transactions: Transactions
    settings: Settings
    clock: ClockWatch
    _turn: int = field(default=0)
    _observed_at: float = field(default_factory=time.monotonic)

    def call(self, call: Call[Reply]) -> Reply:
        """Make a call at the next instance."""
        self._turn += 1
        if time.monotonic() - self._observed_at > OBSERVE_PAUSE_SECS:
            # A background job of `meta.server.server.run`: without it ages stand still after 60 s.
            self._observed_at = time.monotonic()
            self.clock.observe()
        return call(self.clients[self._turn % 2])

    def answer(self, call: Call[Reply]) -> Reply | MetaError:
        """Make a call; what it is refused for is an answer too."""
        try:
            return self.call(call)
        except MetaError as error:
            return error

    def abandon(self, start: Callable[[MetaClient], Any]) -> None:
        """Send a call and do not wait: whether it happens, nobody knows."""
        self.call(start).cancel()

    def execute(self, statement: str) -> None:
        """Change the tables behind meta's back: the passing of time, mostly."""
        self.transactions.write(lambda tx: tx.execute(text(statement)))

    def forget_everything(self) -> None:
        """Begin anew: only the default dataset, and the counter as it is."""

        def work(tx: Transaction) -> None:
            for table in reversed(metadata.sorted_tables):
                if table.name not in _KEPT:
                    tx.execute(table.delete())
            datasets.ensure_default(tx, self.settings.default_dataset)

        self.transactions.write(work)


@contextmanager
def start(settings: Settings) -> Iterator[Instances]:
    """Run two servers whose graces and back-offs are over at once."""
    lifetimes = replace(settings.lifetimes, tombstone_grace=0.0, fail_backoff=0.0)
    settings = replace(settings, lifetimes=lifetimes)
    running = [server.start(settings) for _ in range(2)]
    targets = [f"127.0.0.1:{one.port}" for one in running]
    with MetaClient(targets[0]) as first, MetaClient(targets[1]) as second:
        transactions = Transactions(running[0].database)
        yield Instances((first, second), transactions, settings, ClockWatch(transactions))
    for one in running:
        one.stop(2.0)
