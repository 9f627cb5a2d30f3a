"""Monthly quotas of datasets, and holds while their merges are behind.

Quotas are checked against usage counts that meta gave a few seconds ago. One call covers every
dataset in use and is repeated before its reply expires, so that a busy dataset never waits for it.
When the reply has expired and meta does not answer, exports are refused as UNAVAILABLE, which
exporters retry; once no meta is known to answer, the last reply counts for one buffer's content.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from collector.ingestion import Ingestion, MonthlyUsage
from collector.refusal import Refusal, Refused, over_limit, unavailable
from meta.errors import Code, MetaError, QuotaExceeded
from meta.metrics import USAGE_AGE_SECONDS
from segments.dataset_names import in_tenant

log = structlog.get_logger()
# An export is held for so long while merges are behind.
HELD_SECS = 5.0
# A dataset without exports for this long is no longer in the call.
IDLE_SECS = 60.0
_UNKNOWN_USAGE = "usage of the dataset cannot be checked now"


@dataclass(slots=True, eq=False)
class Allowance:
    """Usage of one dataset as meta last reported it, and the records accepted here since.

    Only exports that came after the reply count as own: an older one may be in meta's count
    already, and counting it twice would refuse exports too early.
    """

    usage: MonthlyUsage
    asked_at: float
    own_records: int = 0
    held: float = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether the dataset, or all of its creator's or tenant's, have reached their quota."""
        usage = self.usage.message
        return (
            self._has_spent(usage.records, usage.limit)
            or self.has_spent_creators
            or self.has_spent_tenants
        )

    @property
    def has_spent_creators(self) -> bool:
        """Whether all datasets of the creator have reached their quota for this month."""
        usage = self.usage.message
        return usage.HasField("creator_limit") and self._has_spent(
            usage.creator_records, usage.creator_limit
        )

    @property
    def has_spent_tenants(self) -> bool:
        """Whether all datasets of the tenant have reached their quota for this month."""
        share = self.usage.message.tenant
        return share.HasField("records_limit") and self._has_spent(
            share.records, share.records_limit
        )

    def _has_spent(self, records: int, limit: int) -> bool:
        return 0 <= limit <= records + self.own_records

    def hold(self) -> bool:
        """Count one export; true if it is one of those that wait until merges have caught up."""
        self.held += self.usage.held_share
        is_held = self.held >= 1.0
        self.held -= is_held
        return is_held


@dataclass(slots=True)
class Quotas:
    """Allowances by dataset; used on one event loop only."""

    ingestion: Ingestion
    trust_secs: float
    clock: Callable[[], float] = time.monotonic
    _allowances: dict[str, Allowance] = field(default_factory=dict)
    _used_at: dict[str, float] = field(default_factory=dict)
    _refresh_task: "asyncio.Task[None] | None" = None

    def last_known(self, dataset_id: str) -> MonthlyUsage | None:
        """Return a dataset's usage if it was within its quota when meta was last asked."""
        allowance = self._allowances.get(dataset_id)
        return None if allowance is None or allowance.is_spent else allowance.usage

    def dataset_name(self, dataset_id: str) -> str:
        """Return a dataset's name in its tenant when meta was last asked about it; "" = unknown."""
        allowance = self._allowances.get(dataset_id)
        return "" if allowance is None else in_tenant(allowance.usage.message.dataset_name)

    async def check(self, dataset_id: str) -> MonthlyUsage:
        """Return a dataset's usage; raises Refused if it is over its quota, or that is unknown."""
        now = self._used_at[dataset_id] = self.clock()
        allowance = self._fresh(dataset_id)
        if allowance is None:
            allowance = await self._refreshed(dataset_id, now)
        elif now - allowance.asked_at > self.trust_secs / 3:
            self._refresh()
        USAGE_AGE_SECONDS.set(max(0.0, now - allowance.asked_at))
        if allowance.is_spent:
            raise Refused(_spent(allowance))
        if allowance.hold():
            raise _behind(allowance.usage)
        return allowance.usage

    def take(self, dataset_id: str, num_records: int) -> Allowance:
        """Count accepted records; raises Refused if the quota has been reached."""
        allowance = self._allowances.get(dataset_id)
        if allowance is None:
            # Forgotten while the export's conversion waited for its turn.
            raise unavailable(_UNKNOWN_USAGE)
        if allowance.is_spent:
            raise Refused(_spent(allowance))
        allowance.own_records += num_records
        return allowance

    def _fresh(self, dataset_id: str) -> Allowance | None:
        allowance = self._allowances.get(dataset_id)
        if allowance is None or self.clock() - allowance.asked_at >= self.trust_secs:
            return None
        return allowance

    async def _refreshed(self, dataset_id: str, came_at: float) -> Allowance:
        """Wait for usage that is fresh, or was asked for after the export came at `came_at`.

        The latter counts however long the answer took: on a machine so busy that answers take
        longer than they are trusted, every export would be refused otherwise.
        """
        # Twice: the call under way may have started before this dataset was in use.
        for _ in range(2):
            await asyncio.shield(self._refresh())
            allowance = self._allowances.get(dataset_id)
            if allowance is not None and allowance.asked_at >= came_at:
                return allowance
            allowance = self._fresh(dataset_id)
            if allowance is not None:
                return allowance
        raise unavailable(_UNKNOWN_USAGE)

    def _refresh(self) -> "asyncio.Task[None]":
        if self._refresh_task is None:
            self._refresh_task = asyncio.create_task(self._read_usages())
            self._refresh_task.add_done_callback(self._forget_refresh)
        return self._refresh_task

    def _forget_refresh(self, task: "asyncio.Task[None]") -> None:
        self._refresh_task = None
        if not task.cancelled():
            # Retrieved here, since nothing awaits a refresh ahead of time.
            task.exception()

    async def _read_usages(self) -> None:
        # The reply's age counts from the call: others commit while it travels.
        asked_at = self.clock()
        for dataset_id, used_at in list(self._used_at.items()):
            if asked_at - used_at > IDLE_SECS:
                del self._used_at[dataset_id]
                self._allowances.pop(dataset_id, None)
        try:
            usages = await self.ingestion.usages(list(self._used_at))
        except MetaError as error:
            log.warning("usage_check_failed", reason=error.reason, error=error.message)
            raise unavailable(_UNKNOWN_USAGE) from error
        for usage in usages:
            before = self._allowances.get(usage.message.dataset_id)
            held = before.held if before is not None else 0.0
            self._allowances[usage.message.dataset_id] = Allowance(usage, asked_at, held=held)


def _behind(usage: MonthlyUsage) -> Refused:
    debt = usage.message.merge_debt
    text = f"{debt} segments of dataset {usage.name} wait for a merge; retry later"
    return over_limit("merge_debt", text, HELD_SECS)


def _spent(allowance: Allowance) -> Refusal:
    usage, name = allowance.usage.message, allowance.usage.name
    owner, limit = f"dataset {name} has accepted its", usage.limit
    if allowance.has_spent_creators:
        owner, limit = f"the creator of dataset {name} has reached the", usage.creator_limit
    elif allowance.has_spent_tenants:
        owner = f"the tenant of dataset {name} has reached the"
        limit = usage.tenant.records_limit
    text = f"{owner} {limit} records of {usage.month} (UTC), duplicates counted"
    # No delay is given, so that exporters drop it by OTLP's rules: the month may be long.
    return Refusal(Code.RESOURCE_EXHAUSTED, text, reason=QuotaExceeded.reason)
