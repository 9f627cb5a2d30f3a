"""Objectives and the alerts that their error budget burns too fast.

Each alert compares a long window, which shows that much of the budget is lost, with a short one,
by which it ends soon after its cause: Google's SRE workbook, chapter 5, "Alerting on SLOs". A
budget is of 30 days.
"""

from dataclasses import dataclass

from segplane.deploy.alerts.alert import META_CAUSES, Alert, Severity

# Recorded: 1 while an installation's records are not fresh.
LATENESS = "segplane:freshness:is_late"
LATENESS_EXPRESSION = "max by (installation) (segplane_meta_nursery_lag_seconds) > bool $fresh_secs"
_EXPORTS = "segplane_collector_exports_total"
# Outcomes that are failures of Segplane, not of a sender or its limits.
_FAILURES = 'outcome=~"unavailable|internal|unknown"'
# Burn rate, long window, short window.
_FAST = ((14.4, "burn_1h", "burn_5m"), (6.0, "burn_6h", "burn_30m"))
_SLOW = ((3.0, "burn_1d", "burn_2h"), (1.0, "burn_3d", "burn_6h"))


@dataclass(frozen=True, slots=True)
class Objective:
    """A share of good events or time; `ratio` is the PromQL of the bad share in `$window`."""

    name: str
    target: float
    ratio: str
    summary: str
    action: str
    caused_by: tuple[str, ...]

    def alerts(self) -> tuple[Alert, Alert]:
        """Return the alert of a fast and that of a slow burn."""
        return (
            self._alert("Fast", Severity.CRITICAL, _FAST, "The budget of 30 days lasts five days."),
            self._alert("Slowly", Severity.WARNING, _SLOW, "The budget of 30 days will not last."),
        )

    def _alert(
        self,
        pace: str,
        severity: Severity,
        burns: tuple[tuple[float, str, str], ...],
        consequence: str,
    ) -> Alert:
        return Alert(
            f"Segplane{self.name}Burns{pace}",
            " or ".join(self._is_burnt(*burn) for burn in burns),
            severity,
            f"{self.summary} {consequence}",
            self.action,
            hold="outage",
            caused_by=self.caused_by,
        )

    def _is_burnt(self, rate: float, *windows: str) -> str:
        """Return the condition that the budget burns at a rate in each of the windows."""
        share = f"{rate * (1 - self.target):.5g}"
        over = (f"{self.ratio.replace('$window', f'${window}')} > {share}" for window in windows)
        return f"({' and '.join(over)})"


OBJECTIVES = (
    Objective(
        "FreshnessBudget",
        0.995,
        f"avg_over_time({LATENESS}[$window])",
        "Records are visible later than a minute after their commit for more than 0.5 % of the"
        " time.",
        "`segplane freshness` shows what is late and `segplane why` what holds it.",
        (*META_CAUSES, "SegplaneNoNursery", "SegplaneStreamParked"),
    ),
    Objective(
        "ExportBudget",
        0.999,
        f"sum by (installation) (rate({_EXPORTS}{{{_FAILURES}}}[$window]))"
        f" / sum by (installation) (rate({_EXPORTS}[$window]))",
        "More than 0.1 % of the exports fail, not by a fault of their senders.",
        "The store or meta: `segplane_collector_flush_seconds` by step, the collector's log.",
        META_CAUSES,
    ),
)
ALERTS = tuple(alert for objective in OBJECTIVES for alert in objective.alerts())
