"""An export that was admitted: its token, its limits, and the memory charged for it."""

from dataclasses import dataclass, field
from typing import Self

from collector.fair_queue import Sender
from collector.ingestion import MonthlyUsage, ValidToken
from collector.intake.token_limits import Activities, TenantActivity, TokenActivity, TokenLimits
from collector.streams.buffer import Charge
from segments.signals import Signal

_TIME_MAX = (1 << 63) - 1


@dataclass(slots=True, eq=False)
class AdmittedExport:
    """An export that may be read: its token, and the memory charged for it until its outcome."""

    signal: Signal
    token_secret: str = field(repr=False)
    token: ValidToken
    limits: TokenLimits
    usage: MonthlyUsage
    charge: Charge
    activity: TokenActivity
    _activities: Activities
    # None = of `default`, whose tokens have their limits alone.
    tenant: TenantActivity | None = None

    def __enter__(self) -> Self:
        """Count the export as in flight."""
        self._activities.begin(self.activity)
        if self.tenant is not None:
            self.tenant.activity.in_flight += 1
        return self

    def __exit__(self, *_: object) -> None:
        """Discharge the bytes that no pending export has taken over."""
        self.charge.release()
        self._activities.end(self.activity)
        if self.tenant is not None:
            self.tenant.activity.in_flight -= 1

    def count(self, size_bytes: int) -> None:
        """Count the export for rates, once it has arrived in full."""
        now = self._activities.clock()
        self.activity.count(size_bytes, self.limits, now)
        if self.tenant is not None:
            self.tenant.activity.count(size_bytes, self.tenant.limits, now)

    @property
    def sender(self) -> Sender:
        """Its token and tenant in fair queues."""
        return Sender(self.token.token_id, "" if self.tenant is None else self.tenant.id)

    def window(self, now_nanos: int) -> tuple[int, int] | None:
        """Event times (nanoseconds) that the dataset accepts now; None = any."""
        limits = self.usage.message.ingest_limits
        age_max_secs, lead_max_secs = limits.event_age_max_secs, limits.event_lead_max_secs
        if not (age_max_secs or lead_max_secs):
            return None
        first = now_nanos - age_max_secs * 10**9 if age_max_secs else 0
        return first, now_nanos + lead_max_secs * 10**9 if lead_max_secs else _TIME_MAX

    @property
    def dataset_id(self) -> str:
        """Dataset that the export's records belong to."""
        return self.token.dataset_ids[self.signal]
