"""Records a month: whether a dataset may take more, by a count of meta's that is seconds old.

One question covers every dataset in use, and is asked again before its answer runs out, so that a
busy dataset never waits for it. When meta cannot be asked and the answer has run out, exports are
refused as UNAVAILABLE, which exporters send again. Taking them on an old answer would keep nothing
that this loses: an acknowledgement needs meta for the commit anyway.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from collector.ingestion import Ingestion, Usage
from collector.refusal import Refusal, Refused, unavailable
from meta.errors import Code, MetaError, QuotaExceeded
from meta.metrics import USAGE_AGE_SECONDS

log = structlog.get_logger()

# A dataset that nothing was sent for in this long is no longer asked for.
IDLE_SECS = 60.0


@dataclass(slots=True, eq=False)
class Allowance:
    """What meta last said of one dataset, and the records taken in since it said so.

    Only exports that came after the answer count as own: an older one may be in meta's count, and
    none is refused for records that would be counted twice.
    """

    usage: Usage
    asked_at: float
    own_records: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether the dataset has had its records for this month."""
        limit = self.usage.limit
        return limit >= 0 and self.usage.records + self.own_records >= limit


@dataclass(slots=True)
class Quotas:
    """Meta's answers by dataset; used on one event loop only."""

    ingestion: Ingestion
    trust_secs: float
    clock: Callable[[], float] = time.monotonic
    _allowances: dict[str, Allowance] = field(default_factory=dict)
    _used_at: dict[str, float] = field(default_factory=dict)
    _asking: "asyncio.Task[None] | None" = None

    def may_take(self, dataset_id: str) -> bool:
        """Whether the dataset is known to be within its limit now, without asking."""
        allowance = self._fresh(dataset_id)
        return allowance is not None and not allowance.is_spent

    async def check(self, dataset_id: str) -> None:
        """Raise Refused if the dataset is over its limit, or if that cannot be told."""
        now = self._used_at[dataset_id] = self.clock()
        allowance = self._fresh(dataset_id)
        if allowance is None:
            allowance = await self._asked_for(dataset_id)
        elif now - allowance.asked_at > self.trust_secs / 3:
            self._ask()
        USAGE_AGE_SECONDS.set(now - allowance.asked_at)
        if allowance.is_spent:
            raise Refused(_spent(allowance.usage))

    def take(self, dataset_id: str, num_records: int) -> Allowance:
        """Count records that are taken in now; raises Refused if others were quicker."""
        allowance = self._allowances[dataset_id]
        if allowance.is_spent:
            raise Refused(_spent(allowance.usage))
        allowance.own_records += num_records
        return allowance

    def _fresh(self, dataset_id: str) -> Allowance | None:
        allowance = self._allowances.get(dataset_id)
        if allowance is None or self.clock() - allowance.asked_at >= self.trust_secs:
            return None
        return allowance

    async def _asked_for(self, dataset_id: str) -> Allowance:
        # Twice: the question under way may have left before this dataset was in use.
        for _ in range(2):
            await asyncio.shield(self._ask())
            allowance = self._fresh(dataset_id)
            if allowance is not None:
                return allowance
        raise unavailable("usage of the dataset cannot be checked now")

    def _ask(self) -> "asyncio.Task[None]":
        if self._asking is None:
            self._asking = asyncio.create_task(self._asked())
            self._asking.add_done_callback(self._forget_asking)
        return self._asking

    def _forget_asking(self, task: "asyncio.Task[None]") -> None:
        self._asking = None
        if not task.cancelled():
            # Read here, since a refresh ahead of time has nobody waiting for it.
            task.exception()

    async def _asked(self) -> None:
        # The answer is as old as the question: others commit while it travels.
        asked_at = self.clock()
        for dataset_id, used_at in list(self._used_at.items()):
            if asked_at - used_at > IDLE_SECS:
                del self._used_at[dataset_id]
                self._allowances.pop(dataset_id, None)
        try:
            usages = await self.ingestion.usages(list(self._used_at))
        except MetaError as error:
            log.warning("usage_check_failed", reason=error.reason, error=error.message)
            raise unavailable("usage of the dataset cannot be checked now") from error
        for usage in usages:
            self._allowances[usage.dataset_id] = Allowance(usage, asked_at)


def _spent(usage: Usage) -> Refusal:
    text = f"dataset {usage.dataset_id} has taken its {usage.limit} records of {usage.month} (UTC)"
    # Without a delay, which by OTLP's rules tells exporters to drop it: the month may be long.
    return Refusal(Code.RESOURCE_EXHAUSTED, text, reason=QuotaExceeded.reason)
