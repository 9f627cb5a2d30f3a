"""The alerts of an installation, by subject: one table from which rules and a page are rendered."""

from collections.abc import Mapping, Sequence

from segplane.deploy.alerts import findings, meta, objectives, pipeline, processes
from segplane.deploy.alerts.alert import Alert

GROUPS: Mapping[str, Sequence[Alert]] = {
    "objectives": objectives.ALERTS,
    "pipeline": pipeline.ALERTS,
    "processes": processes.ALERTS,
    "meta": meta.ALERTS,
    "findings": findings.ALERTS,
}
ALERTS = tuple(alert for group in GROUPS.values() for alert in group)
