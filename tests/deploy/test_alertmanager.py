"""A real Alertmanager with deploy/alertmanager.yml: a cause silences its consequences."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from segplane.deploy import rules
from segplane.deploy.alerts import ALERTS
from tests.support.prometheus.servers import alertmanager, post_alerts
from tests.support.waiting import wait_until

BY_NAME = {alert.name: alert for alert in ALERTS}
CAUSE = "SegplaneDatabaseNeedsOperator"
# Alerts wait half a second for others of their group.
FACTOR = 1 / 60
CONSEQUENCES = ("SegplaneNurseryLags", "SegplaneExportsRefused", "SegplaneMetaJobFails")


class Receiver:
    """Takes the notifications of webhooks."""

    def __init__(self) -> None:
        self.notifications: list[dict[str, Any]] = []
        self.url = ""

    def names(self) -> list[tuple[str, list[str]]]:
        """Return receiver and alerts of each notification."""
        return [
            (n["receiver"], sorted(a["labels"]["alertname"] for a in n["alerts"]))
            for n in self.notifications
        ]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Listen for notifications."""
    taken = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.notifications.append(json.loads(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    taken.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield taken
    finally:
        server.shutdown()


@pytest.fixture
def taken() -> Iterator[Receiver]:
    with receiver() as started:
        yield started


@pytest.fixture
def manager(tmp_path: Path, taken: Receiver) -> Iterator[str]:
    receivers = dict.fromkeys(("pager", "tickets"), taken.url)
    with alertmanager(tmp_path, rules.alertmanager(FACTOR, receivers)) as url:
        yield url


@pytest.mark.long
def test_a_cause_with_its_consequences_is_one_notification(manager: str, taken: Receiver) -> None:
    post_alerts(manager, [_alert(name, "eu") for name in (*CONSEQUENCES, CAUSE)])
    wait_until(lambda: bool(taken.notifications), "the notification")
    # Those of another installation, sent afterwards, come when all of the first would have.
    post_alerts(manager, [_alert(name, "us") for name in CONSEQUENCES])
    wait_until(lambda: len(taken.notifications) >= 3, "the others", poll_secs=0.1)

    assert taken.names()[0] == ("pager", [CAUSE])
    assert sorted(taken.names()[1:]) == [
        ("pager", ["SegplaneNurseryLags"]),
        ("tickets", ["SegplaneExportsRefused", "SegplaneMetaJobFails"]),
    ]
    installations = [n["groupLabels"]["installation"] for n in taken.notifications]
    assert installations == ["eu", "us", "us"]


def test_no_alert_silences_itself_or_a_cause_of_it() -> None:
    consequences = rules.consequences_of_causes()

    for cause, names in consequences.items():
        assert cause not in names
        assert not {name for name in names if cause in consequences.get(name, [])}


def _alert(name: str, installation: str) -> dict[str, Any]:
    labels = {
        "alertname": name,
        "installation": installation,
        "severity": BY_NAME[name].severity.value,
    }
    return {"labels": labels, "annotations": {"summary": BY_NAME[name].summary}}
