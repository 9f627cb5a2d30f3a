"""Costs of this meta and of its Postgres, divided by the bytes that processes report.

    ReportCosts --bytes of datasets--> sums of this meta --(5 min, + its CPU time)--> ledger

Only ReportCosts takes part, which adds its bytes to sums in memory. Servers on one database divide
Postgres together: the database knows up to which microsecond it is divided.
"""

import threading
import time
from collections.abc import Mapping
from uuid import UUID, uuid4

from meta.commits.transactions import Transactions
from meta.costs.accumulator import NO_DATASET, Accumulator, Work
from meta.costs.cpu_time import postgres_micros
from meta.costs.spent import Spent
from meta.store.costs import ledger, postgres, reports
from meta.store.costs.ledger import Amounts, CostKey
from meta.store.costs.reports import Rise
from meta.store.engine.pool import Transaction
from meta.v1 import costs_pb2 as pb

# Processes report once a minute: an interval that has few of their reports would divide nothing.
CHARGED_EVERY_SECS = 300.0
ENTRIES_AT_ONCE = 1_000


class ServerCosts:
    """Shares of the datasets in the CPU time of this meta and its Postgres; for many threads."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._costs = {work: Accumulator() for work in (Work.META, Work.POSTGRES)}
        self._lock = threading.Lock()
        self._reporter, self._number = uuid4(), 0
        # The shares that have the number, and are not written yet.
        self._waiting: Mapping[CostKey, Amounts] = {}
        self._cpu_micros, self._at = 0, 0.0
        # Whether bytes came since the last round.
        self._has_bytes = False

    def charge(self, amounts: Mapping[CostKey, Amounts]) -> None:
        """Note the bytes of datasets that a process has reported."""
        for key, amount in amounts.items():
            dataset_id = NO_DATASET if key.dataset_id == ledger.NO_DATASET else str(key.dataset_id)
            for work, costs in self._costs.items():
                costs.charge(work, dataset_id, amount.bytes)
            self._has_bytes = self._has_bytes or amount.bytes > 0

    def run_round(self) -> None:
        """Divide what was spent since the last round, and write it; the first one is the start."""
        with self._lock:
            # Shares that a failure of Postgres kept.
            self._write_all()
            postgres_rise = self._transactions.write(self._take_postgres)
            cpu_micros, at = time.process_time_ns() // 1_000, time.monotonic()
            secs = at - self._at if self._at else 0.0
            self._costs[Work.META].settle(Work.META, Spent(cpu_micros - self._cpu_micros), secs)
            self._cpu_micros, self._at = cpu_micros, at
            has_bytes, self._has_bytes = self._has_bytes, False
            if postgres_rise.amount or has_bytes:
                spent = Spent(postgres_rise.amount)
                self._costs[Work.POSTGRES].settle(Work.POSTGRES, spent, postgres_rise.secs)
            self._write_all()

    def end(self) -> None:
        """Write what was spent until the end of a server whose rounds have begun."""
        if self._at:
            self.run_round()

    def _take_postgres(self, tx: Transaction) -> Rise:
        """Take the CPU time of Postgres that is not divided; none if it runs elsewhere."""
        server = postgres.answering(tx)
        micros = postgres_micros(server.backend_id, server.started_at_micros / 1e6)
        if micros is None:
            return Rise()
        # Another server may have the bytes by which it is to be divided.
        secs_min = 0.0 if self._has_bytes else 2 * CHARGED_EVERY_SECS
        return reports.advance(tx, server.reporter, micros, secs_min)

    def _write_all(self) -> None:
        while self._waiting or self._next():
            self._transactions.write(self._write)
            self._waiting = {}

    def _next(self) -> bool:
        """Give the next shares a number; false if there are none."""
        while entries := [e for w, c in self._costs.items() for e in c.take(w, ENTRIES_AT_ONCE)]:
            self._waiting = {
                _key(entry): Amounts(cpu_micros=entry.amounts.cpu_micros)
                for entry in entries
                if entry.amounts.cpu_micros
            }
            if self._waiting:
                self._number += 1
                return True
        return False

    def _write(self, tx: Transaction) -> None:
        if reports.claim(tx, self._reporter, self._number):
            ledger.add(tx, dict(self._waiting))


def _key(entry: pb.CostEntry) -> CostKey:
    dataset_id = UUID(entry.dataset_id) if entry.dataset_id else ledger.NO_DATASET
    return CostKey(dataset_id, entry.kind)
