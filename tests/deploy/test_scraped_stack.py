"""A real Prometheus scrapes `segplane dev --metrics`: every selector of deploy/ returns series."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from segplane.deploy import rules
from segplane.deploy.alerts import ALERTS
from segplane.deploy.alerts.objectives import LATENESS, LATENESS_EXPRESSION
from segplane.stack import metrics_targets
from segplane.stack.dev import Stack
from tests.deploy.selectors import selectors
from tests.docs.metrics_page import COMMANDS
from tests.support.data_folders import stack_settings
from tests.support.prometheus.programs import program
from tests.support.prometheus.servers import PrometheusServer, prometheus
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
PROCESSES = {"meta", "collector", "gateway", "pipeline", "janitor"}
SELECTORS_SECS = 180.0


@pytest.mark.long
def test_every_selector_has_series_before_the_first_event(tmp_path: Path) -> None:
    program("prometheus")
    with stack_settings() as given:
        on_processes = {**given.inherited, "SEGPLANE_SPARK_MASTER": "processes[1]"}
        settings = replace(given, has_metrics=True, inherited=on_processes)
        with Stack(settings, lambda _: None) as stack:
            targets = metrics_targets.path_in(settings.data_dir)
            with prometheus(tmp_path, targets, rules.rules(), scrape_secs=2) as server:
                wait_until(
                    lambda: {s["metric"]["process"] for s in server.query("up == 1")} == PROCESSES,
                    "all targets to be up",
                    tick=stack.check,
                    poll_secs=1.0,
                )
                missing = {*_selectors()}

                def are_there() -> bool:
                    missing.difference_update([s for s in missing if _has_series(server, s)])
                    return not missing

                try:
                    # Gauges of the datasets come once a minute.
                    wait_until(are_there, "series", seconds=SELECTORS_SECS, poll_secs=2.0)
                except AssertionError:
                    assert missing == set()
                assert server.alerts() == {}, "an idle stack has no alert"


def _has_series(server: PrometheusServer, selector: str) -> bool:
    return bool(server.query(f"count({selector})"))


def _selectors() -> Iterator[str]:
    """List the selectors of what processes export, in the rules and the dashboards."""
    for text in _expressions():
        for selector in selectors(text):
            if not selector.startswith(tuple(f"segplane_{name}_" for name in COMMANDS)):
                yield selector


def _expressions() -> Iterator[str]:
    """List the expressions of the rules, and of the dashboards for all installations."""
    for alert in ALERTS:
        yield alert.expression()
    yield f"{LATENESS} + {LATENESS_EXPRESSION}"
    for path in (ROOT / "deploy" / "grafana").iterdir():
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield target["expr"].replace("$installation", ".*")
