"""Turns of the datasets that CreateMergeTasks plans: a call ends in time, the next continues."""

import time
from collections.abc import Iterator
from functools import partial

from meta.commits.transactions import Transactions
from meta.store.engine import call_scope
from meta.store.merging import merge_planning

# The janitor makes a call every 10 s.
PLAN_SECS = 2.0
DATASETS_AT_ONCE = 200


def end_of_work(secs_max: float) -> float:
    """Monotonic time at which a call ends its work, after half of its time at most."""
    # None if the caller sets no deadline, as clients of other makes do.
    left_secs = call_scope.time_remaining()
    secs = secs_max if left_secs is None else min(secs_max, left_secs / 2)
    return time.monotonic() + secs


class DatasetTurns:
    """Yields the datasets with something to merge, from the end of the call before."""

    def __init__(self, transactions: Transactions, plan_secs: float) -> None:
        self._transactions = transactions
        self._plan_secs = plan_secs
        # The last dataset of a call that ended before all had their turn; 0 = none.
        self._last_key = 0

    def keys(self) -> Iterator[int]:
        """Yield each dataset's key once, until the time of the call is over."""
        deadline = end_of_work(self._plan_secs)
        first = after = self._last_key
        is_around = first == 0
        while True:
            page = partial(merge_planning.plannable_datasets, after=after, most=DATASETS_AT_ONCE)
            keys = self._transactions.read(page)
            for key in keys:
                if is_around and 0 < first < key:
                    return
                yield key
                after = self._last_key = key
                if time.monotonic() > deadline:
                    return
            if len(keys) < DATASETS_AT_ONCE:
                after = self._last_key = 0
                if is_around:
                    return
                is_around = True
