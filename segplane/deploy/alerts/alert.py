"""An alert: its condition in PromQL, how urgent it is, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from segplane.deploy import durations


class Severity(StrEnum):
    """The urgency of an alert, by which Alertmanager routes it."""

    # Records are late, refused or in danger: wake somebody.
    CRITICAL = "critical"
    # Somebody should look during the day.
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    `condition` names windows as `$rate` and ages as `$late_secs`, of `durations.SECONDS`; `hold` is
    the time for which it must hold, by its name there. Alerts in `caused_by` inhibit this one in
    the same installation. `action` is Markdown, with links from docs/.
    """

    name: str
    condition: str
    severity: Severity
    summary: str
    action: str
    hold: str = "at_once"
    caused_by: tuple[str, ...] = ()

    def expression(self, factor: float = 1.0) -> str:
        """Return the condition with its durations times `factor`."""
        return durations.rendered(self.condition, factor)

    @property
    def anchor(self) -> str:
        """Anchor of its section on the page of alerts."""
        return self.name.lower()


# Without them nothing else works.
META_CAUSES = ("SegplaneNoMeta", "SegplaneDatabaseNeedsOperator")
