"""A real Prometheus and a real Alertmanager, on free ports of this machine."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from dataplane.processes.parent_death import tied_command
from segplane.stack.preflight import claim_ports
from tests.support.prometheus.programs import program
from tests.support.waiting import wait_until

_REQUEST_SECS_MAX = 30.0
_COMMON_LABELS = {"__name__", "installation", "severity", "job"}


@dataclass(frozen=True)
class PrometheusServer:
    """A Prometheus that scrapes."""

    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an expression now, as its API gives them."""
        answer = _get(f"{self.url}/api/v1/query?query={quote(expression)}")
        return list(answer["data"]["result"])

    def alerts(self, state: str = "firing") -> dict[str, list[dict[str, str]]]:
        """Return the labels of the alerts in a state, by the alert's name."""
        alerts: dict[str, list[dict[str, str]]] = {}
        for alert in _get(f"{self.url}/api/v1/alerts")["data"]["alerts"]:
            if alert["state"] == state:
                alerts.setdefault(alert["labels"]["alertname"], []).append(alert["labels"])
        return alerts

    def alerts_so_far(self) -> set[str]:
        """Return a text for every alert that was pending or firing in the last day.

        It has the state, the name and the labels that tell it from others of its name.
        """
        series = self.query("count_over_time(ALERTS[1d])")
        return {_alert_text(dict(each["metric"])) for each in series}


def _alert_text(labels: dict[str, str]) -> str:
    """Describe an alert of a series ALERTS."""
    name, state = labels.pop("alertname"), labels.pop("alertstate")
    others = " ".join(f"{key}={labels[key]}" for key in sorted(labels.keys() - _COMMON_LABELS))
    return f"{name} was {state}{f': {others}' if others else ''}"


@contextmanager
def prometheus(
    folder: Path, targets: Path, rules: str, *, scrape_secs: float = 1.0
) -> Iterator[PrometheusServer]:
    """Run a Prometheus with rules over the targets of a file; skips without the program."""
    (folder / "rules.yml").write_text(rules)
    (folder / "prometheus.yml").write_text(
        f"global: {{scrape_interval: {scrape_secs:g}s, scrape_timeout: {scrape_secs:g}s}}\n"
        f"rule_files: [{folder / 'rules.yml'}]\n"
        "scrape_configs:\n"
        "  - job_name: segplane\n"
        f"    file_sd_configs: [{{files: [{targets}], refresh_interval: 2s}}]\n"
    )
    arguments = (
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
    )
    with _server("prometheus", folder, arguments) as url:
        yield PrometheusServer(url)


@contextmanager
def alertmanager(folder: Path, configuration: str) -> Iterator[str]:
    """Run an Alertmanager, and give its URL; skips without the program."""
    (folder / "alertmanager.yml").write_text(configuration)
    arguments = (
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        "--cluster.listen-address=",
    )
    with _server("alertmanager", folder, arguments) as url:
        yield url


def post_alerts(url: str, alerts: list[dict[str, Any]]) -> None:
    """Send alerts to an Alertmanager, as Prometheus does."""
    headers = {"content-type": "application/json"}
    request = Request(f"{url}/api/v2/alerts", json.dumps(alerts).encode(), headers)
    with urlopen(request, timeout=_REQUEST_SECS_MAX) as reply:
        assert reply.status == 200


@contextmanager
def _server(name: str, folder: Path, arguments: tuple[str, ...]) -> Iterator[str]:
    address = f"127.0.0.1:{claim_ports({name: 0})[name]}"
    command = [str(program(name)), *arguments, f"--web.listen-address={address}"]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            tied_command(command, signal.SIGTERM), stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: _is_ready(f"http://{address}"), name, poll_secs=0.2)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def _is_ready(url: str) -> bool:
    with suppress(URLError, OSError), urlopen(f"{url}/-/ready", timeout=5) as reply:
        return bool(reply.status == 200)
    return False


def _get(url: str) -> Any:
    with urlopen(url, timeout=_REQUEST_SECS_MAX) as reply:
        return json.loads(reply.read())
