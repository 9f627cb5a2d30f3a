"""Records of creators this month, which many calls of collectors ask for."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from meta.store.access import creator_quotas
from meta.store.engine.pool import Transaction

# A creator may have 100,000 datasets, whose records are added up.
FRESH_SECS = 2.0


@dataclass(frozen=True, slots=True)
class CreatorRecords:
    """Records of creators, each read at most once in FRESH_SECS; others are forgotten."""

    clock: Callable[[], float] = time.monotonic
    _records: dict[str, tuple[float, int]] = field(default_factory=dict)

    def read(self, tx: Transaction, creators: Collection[str]) -> Mapping[str, int]:
        """The records of creators in this month."""
        now = self.clock()
        for creator, (read_at, _) in list(self._records.items()):
            if now - read_at >= FRESH_SECS:
                self._records.pop(creator, None)
        stale = set(creators).difference(self._records)
        records = creator_quotas.read_records(tx, stale) if stale else {}
        self._records.update({creator: (now, records.get(creator, 0)) for creator in stale})
        known_records = dict(self._records)
        return {c: known_records[c][1] for c in creators if c in known_records}
