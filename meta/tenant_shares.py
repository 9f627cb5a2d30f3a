"""Shares of tenants: their part of each bound that is for all callers, and their quotas."""

from dataclasses import dataclass

PERCENT_DEFAULT = 50


@dataclass(frozen=True, slots=True)
class TenantShares:
    """The shares of a tenant that are in force; a quota of 0 is none."""

    percent: int = 100
    datasets: int = 0
    records_per_month: int = 0
    bytes_per_sec: int = 0

    def of(self, bound: int) -> int:
        """The tenant's part of a bound, one at least."""
        return max(1, bound * self.percent // 100)


# Of operators and the tenant `default`: the bound itself.
WHOLE = TenantShares()
