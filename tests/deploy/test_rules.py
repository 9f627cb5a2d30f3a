"""The rules of Prometheus as they are shipped: rendered, checked, fired and silent."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from segplane.deploy import durations, rules
from segplane.deploy.alerts import ALERTS
from segplane.deploy.alerts.alert import Alert
from tests.deploy.rule_case import RuleCase, Series
from tests.deploy.rule_cases import CASES
from tests.support.prometheus.programs import program

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BY_NAME = {alert.name: alert for alert in ALERTS}


def test_the_files_are_rendered_from_the_table() -> None:
    assert (DEPLOY / rules.RULES_FILE).read_text() == rules.rules(), "stale: run make deploy"
    assert (DEPLOY / rules.ALERTMANAGER_FILE).read_text() == rules.alertmanager()


def test_names_are_unique_and_each_cause_is_an_alert() -> None:
    assert len(BY_NAME) == len(ALERTS)
    assert {cause for alert in ALERTS for cause in alert.caused_by} <= {*BY_NAME}
    assert all(alert.hold in durations.SECONDS for alert in ALERTS)


def test_every_duration_is_shorter_by_the_factor() -> None:
    for alert in ALERTS:
        written = re.findall(r"\[(\w+)\]", alert.expression())
        shorter = re.findall(r"\[(\w+)\]", alert.expression(1 / 60))
        assert [_secs(text) / 60 for text in written] == [_secs(text) for text in shorter]
    assert "> 5" in BY_NAME["SegplaneRecordsLate"].expression(1 / 60)


@pytest.mark.parametrize(
    ("secs", "text"),
    [(0, "0s"), (0.25, "250ms"), (15, "15s"), (90, "90s"), (300, "5m"), (172_800, "2d")],
)
def test_durations_are_in_one_unit(secs: float, text: str) -> None:
    assert durations.duration(secs) == text


def test_every_runbook_exists() -> None:
    page = (ROOT / rules.RUNBOOKS).read_text()
    anchors = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", page, re.MULTILINE)}

    urls = re.findall(r'runbook_url: "(.+)"', rules.rules())
    assert {url.partition("#")[0] for url in urls} == {rules.RUNBOOKS}
    assert {url.partition("#")[2] for url in urls} <= anchors
    assert len(urls) == len(ALERTS)


def test_runbooks_may_be_anywhere() -> None:
    text = rules.rules(runbooks="https://wiki.example/alerts")

    assert 'runbook_url: "https://wiki.example/alerts#segplanenometa"' in text


def test_each_alert_has_a_case() -> None:
    assert {case.alert for case in CASES} == {*BY_NAME}


@pytest.mark.long
def test_each_alert_fires_and_is_silent(tmp_path: Path) -> None:
    promtool = program("promtool")
    rules_path = DEPLOY / rules.RULES_FILE
    tests = [
        _test(case, series, alerts)
        for case in CASES
        for series, alerts in ((case.firing, [_expected(case)]), (case.silent, []))
    ]
    files = []
    for interval in {test["interval"] for test in tests}:
        text = {
            "rule_files": [str(rules_path)],
            "evaluation_interval": interval,
            "tests": [test for test in tests if test["interval"] == interval],
        }
        files.append(tmp_path / f"{interval}.yml")
        files[-1].write_text(yaml.safe_dump(text))

    ended = subprocess.run(
        [promtool, "test", "rules", *files], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-6000:]


def _test(case: RuleCase, series: Series, alerts: list[dict[str, object]]) -> dict[str, object]:
    return {
        "name": f"{case.alert} {'fires' if alerts else 'is silent'}",
        "interval": f"{case.step}m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": f"{case.minutes}m", "alertname": case.alert, "exp_alerts": alerts}
        ],
    }


def _expected(case: RuleCase) -> dict[str, object]:
    """Return the alert with the labels of its series and its annotations."""
    alert: Alert = BY_NAME[case.alert]
    labels = {"installation": "eu"} if case.has_installation else {}
    labels |= case.labels
    summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda name: labels[name[1]], alert.summary)
    return {
        "exp_labels": {**labels, "severity": alert.severity.value},
        "exp_annotations": {
            "summary": summary,
            "runbook_url": f"{rules.RUNBOOKS}#{alert.anchor}",
        },
    }


def _secs(text: str) -> float:
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
    number, unit = re.fullmatch(r"(\d+)(\w+?)", text).groups()  # type: ignore[union-attr]
    return int(number) * units[unit]
