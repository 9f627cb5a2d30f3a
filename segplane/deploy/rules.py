"""Rules of Prometheus and the configuration of Alertmanager, rendered from the table of alerts.

`python -m segplane.deploy.rules deploy` writes both files, with `--runbooks` for the address of the
page of alerts. A JSON string is one of YAML, too.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from segplane.deploy import durations
from segplane.deploy.alerts import ALERTS, GROUPS
from segplane.deploy.alerts.alert import Alert
from segplane.deploy.alerts.objectives import LATENESS, LATENESS_EXPRESSION

RUNBOOKS = "docs/alerts.md"
RULES_FILE = "prometheus.rules.yml"
ALERTMANAGER_FILE = "alertmanager.yml"
_WRITTEN = "# Written by `make deploy` from segplane/deploy: do not edit.\n"
# Example receivers; the addresses are to be replaced.
_RECEIVERS = {"pager": "http://127.0.0.1:9099/pager", "tickets": "http://127.0.0.1:9099/tickets"}


def rules(factor: float = 1.0, runbooks: str = RUNBOOKS) -> str:
    """Return the rules file; every window and duration is multiplied by `factor`.

    `runbooks` is the address of docs/alerts.md, in front of the anchor of each alert.
    """
    lines = [f"{_WRITTEN}groups:"]
    for name, alerts in GROUPS.items():
        lines += [
            f"  - name: segplane_{name}",
            f"    interval: {durations.rendered('$evaluation', factor)}",
            "    rules:",
        ]
        if name == "objectives":
            recorded = durations.rendered(LATENESS_EXPRESSION, factor)
            lines += [f"      - record: {LATENESS}", f"        expr: {json.dumps(recorded)}"]
        lines += [line for alert in alerts for line in _rule(alert, factor, runbooks)]
    return "\n".join(lines) + "\n"


def alertmanager(factor: float = 1.0, receivers: dict[str, str] | None = None) -> str:
    """Return the configuration of Alertmanager: an example of routing, and the inhibitions.

    `receivers` has the addresses of the webhooks `pager` and `tickets`.
    """
    lines = [
        f"{_WRITTEN}# Replace the receivers: those that page and those that open a ticket.",
        "route:",
        "  receiver: tickets",
        "  group_by: [installation]",
        f"  group_wait: {durations.rendered('$group_wait', factor)}",
        f"  group_interval: {durations.rendered('$group_interval', factor)}",
        f"  repeat_interval: {durations.rendered('$repeat', factor)}",
        "  routes:",
        '    - matchers: [severity="critical"]',
        "      receiver: pager",
        "receivers:",
    ]
    for name, url in (receivers or _RECEIVERS).items():
        lines += [f"  - name: {name}", f"    webhook_configs: [{{url: {json.dumps(url)}}}]"]
    lines += [
        "# A consequence is silent while its cause fires in the same installation.",
        "inhibit_rules:",
    ]
    for cause, consequences in consequences_of_causes().items():
        target = f'alertname=~"{"|".join(consequences)}"'
        lines += [
            f"  - source_matchers: ['alertname=\"{cause}\"']",
            f"    target_matchers: ['{target}']",
            "    equal: [installation]",
        ]
    return "\n".join(lines) + "\n"


def consequences_of_causes() -> dict[str, list[str]]:
    """Return the alerts that each cause inhibits."""
    consequences = defaultdict[str, list[str]](list)
    for alert in ALERTS:
        for cause in alert.caused_by:
            consequences[cause].append(alert.name)
    return dict(sorted(consequences.items()))


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runbooks", default=RUNBOOKS, help="address of docs/alerts.md")
    arguments = parser.parse_args()
    (arguments.folder / RULES_FILE).write_text(rules(runbooks=arguments.runbooks))
    (arguments.folder / ALERTMANAGER_FILE).write_text(alertmanager())


def _rule(alert: Alert, factor: float, runbooks: str) -> Iterator[str]:
    yield f"      - alert: {alert.name}"
    yield f"        expr: {json.dumps(alert.expression(factor))}"
    hold = durations.rendered(f"${alert.hold}", factor)
    if hold != "0s":
        yield f"        for: {hold}"
    yield f"        labels: {{severity: {alert.severity}}}"
    yield "        annotations:"
    yield f"          summary: {json.dumps(alert.summary)}"
    yield f"          runbook_url: {json.dumps(f'{runbooks}#{alert.anchor}')}"


if __name__ == "__main__":
    main()
