"""The alerts of deploy/ during a soak: a real Prometheus scrapes all processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak.stack import SoakStack
from segplane.deploy import rules
from segplane.stack import metrics_targets
from tests.support.prometheus.programs import find_program
from tests.support.prometheus.servers import PrometheusServer, prometheus

SCRAPE_SECS = 15.0


@dataclass(frozen=True, slots=True)
class AlertWatch:
    """Alerts since the start; without a Prometheus nothing is watched."""

    server: PrometheusServer | None

    def findings(self) -> list[str]:
        """Return a sentence for each alert that was pending or firing, however shortly."""
        if self.server is None:
            print("no Prometheus (make prometheus), so alerts were not watched", flush=True)
            return []
        alerts = sorted(self.server.alerts_so_far())
        print(f"{len(alerts)} alerts were pending or firing", flush=True)
        return [f"alert {text}" for text in alerts]


@contextmanager
def alert_watch(soak: SoakStack, folder: Path) -> Iterator[AlertWatch]:
    """Watch the rules as they are shipped, from enter to exit."""
    if find_program("prometheus") is None:
        yield AlertWatch(None)
        return
    targets = metrics_targets.path_in(soak.stack.settings.data_dir)
    folder.mkdir()
    with prometheus(folder, targets, rules.rules(), scrape_secs=SCRAPE_SECS) as server:
        yield AlertWatch(server)
