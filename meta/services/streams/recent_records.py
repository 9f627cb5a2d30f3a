"""Records of creators or tenants this month, which many calls of collectors ask for."""

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from meta.store.engine.pool import Transaction

# A creator may have 100,000 datasets, whose records are added up.
FRESH_SECS = 2.0

Holder = TypeVar("Holder", bound=Hashable)


@dataclass(frozen=True, slots=True)
class RecentRecords(Generic[Holder]):
    """Records of holders, each read at most once in FRESH_SECS; others are forgotten."""

    read_records: Callable[[Transaction, set[Holder]], Mapping[Holder, int]]
    clock: Callable[[], float] = time.monotonic
    _records: dict[Holder, tuple[float, int]] = field(default_factory=dict)

    def read(self, tx: Transaction, holders: set[Holder]) -> Mapping[Holder, int]:
        """The records of holders in this month."""
        now = self.clock()
        for holder, (read_at, _) in list(self._records.items()):
            if now - read_at >= FRESH_SECS:
                self._records.pop(holder, None)
        stale = holders.difference(self._records)
        records = self.read_records(tx, stale) if stale else {}
        self._records.update({holder: (now, records.get(holder, 0)) for holder in stale})
        kept_records = dict(self._records)
        return {h: kept_records[h][1] for h in holders if h in kept_records}
