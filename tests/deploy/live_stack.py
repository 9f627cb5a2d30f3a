"""A whole Segplane whose alerts a real Prometheus fires, with shorter durations by one factor."""

import json
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
from click.testing import CliRunner

from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segplane.__main__ import app
from segplane.deploy import rules
from segplane.stack import metrics_targets
from segplane.stack.dev import PARTS, Stack
from segplane.stack.postgres import running_url
from tests.support.data_folders import stack_settings
from tests.support.merge_worker.case import Case
from tests.support.nursery.drivers import CollectorDriver
from tests.support.prometheus.servers import PrometheusServer, prometheus
from tests.support.waiting import wait_until

# Jobs that run once a minute are not taken for hanging ones, and an alert that holds for 5 minutes
# fires after 38 s.
FACTOR = 1 / 8
STOP_SECS = 60.0
# Bounds so low that a cause reaches them, and a pace at which merges do not wait.
ENVIRONMENT = {
    # Nursery and merge worker are two processes, and neither needs a JVM.
    "NURSERY_SPARK_MASTER": "processes[1]",
    "MERGE_WORKER_SPARK_MASTER": "processes[1]",
    "META_WATCHERS_MAX": "2",
    "META_MERGE_DEBT_SEGMENTS": "20",
    "GATEWAY_QUERY_SCANNED_BYTES": "1",
    "JANITOR_SCRUB_PASS_SECS": "5",
}


@dataclass
class LiveStack:
    """The stack, its Prometheus, and the alerts that have fired in tests."""

    stack: Stack
    client: MetaClient
    server: PrometheusServer
    # Prometheus reads the targets of each JSON file in it.
    targets: Path
    folder: Path
    fired: set[str] = field(default_factory=set)

    @property
    def objects(self) -> Path:
        """Folder of the object store."""
        return self.stack.settings.data_dir / "objects"

    def case(self, segments: int, *, is_of_one_day: bool = True) -> Case:
        """Create a dataset, and write and register small segments of it.

        Those of one day are merged.
        """
        made = Case(self.client, self.folder)
        for seed in range(segments):
            made.save(seed, 1 if is_of_one_day else seed + 1)
        return made

    def collector(self) -> CollectorDriver:
        """Open a stream whose objects and commits tests write."""
        name = f"driven-{time.monotonic_ns()}"
        created = self.client.catalog.CreateDataset(CreateDatasetRequest(name=name))
        return CollectorDriver(self.client, created.id)

    def run(self, *arguments: str, exit_code: int = 0) -> str:
        """Run a command, which ends with an exit code; returns what it printed."""
        environment = {"SEGPLANE_META_ADDRESS": self.stack.settings.meta_address}
        ended = CliRunner().invoke(app, arguments, env=environment)
        assert ended.exit_code == exit_code, ended.output
        return ended.stdout

    def database(self) -> "psycopg.Connection[tuple[object, ...]]":
        """Connect to the database as its superuser; each statement is a transaction."""
        url = running_url(self.stack.settings.data_dir / "postgres")
        return psycopg.connect(url, autocommit=True)

    def stop(self, name: str) -> None:
        """Stop a process, which nobody starts again."""
        child = self.stack.detach(name)
        child.stop()
        child.wait_stopped(time.monotonic() + STOP_SECS)

    def start(self, *names: str) -> None:
        """Start processes that were stopped."""
        self.stack.start_parts(*names)

    def start_with(self, name: str, **variables: str) -> None:
        """Start a process with further variables in its environment."""
        spec = self.stack._spec(name)
        environment = {**spec.environment, **variables}
        self.stack._launch(replace(spec, environment=environment))

    def token_for(self, dataset: str) -> str:
        """Create an ingest token for a dataset."""
        created = self.client.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name=dataset, dataset_name=dataset)
        )
        return created.plaintext_token

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a process a signal."""
        self.stack.children[name].stop(number)

    @contextmanager
    def also_scraped(self, name: str, address: str, job: str) -> Iterator[None]:
        """Let Prometheus scrape another address."""
        labels = {"job": job, "installation": self.stack.settings.data_dir.name}
        path = self.targets / f"{name}.json"
        path.write_text(json.dumps([{"targets": [address], "labels": labels}]))
        try:
            yield
        finally:
            path.unlink()

    def firing(self) -> set[str]:
        """Return the alerts that fire now: names, and `name label=value` for each label."""
        return {
            text
            for name, alerts in self.server.alerts().items()
            for labels in alerts
            for text in (name, *(f"{name} {key}={value}" for key, value in labels.items()))
        }

    def await_alerts(self, *alerts: str, seconds: float = 150.0) -> None:
        """Wait until all of these have fired, at the same time or one after the other."""
        missing = {*alerts}

        def have_fired() -> bool:
            missing.difference_update(self.firing())
            return not missing

        try:
            wait_until(have_fired, "alerts", seconds=seconds, tick=self.tick, poll_secs=1.0)
        except AssertionError:
            names = {alert.partition(" ")[0] for alert in missing}
            labels = {text for text in self.firing() if text.partition(" ")[0] in names}
            fire = sorted({*self.server.alerts(), *labels})
            raise AssertionError(f"silent: {sorted(missing)}; these fire: {fire}") from None
        self.fired |= {alert.partition(" ")[0] for alert in alerts}

    def tick(self) -> None:
        """Start processes that have died again."""
        self.stack.check()


@contextmanager
def live_stack(
    folder: Path,
    environment: Mapping[str, str] = ENVIRONMENT,
    store_url: str = "",
    parts: Sequence[str] = PARTS,
) -> Iterator[LiveStack]:
    """Run everything from enter to exit; skips without a Prometheus."""
    targets = folder / "targets"
    targets.mkdir()
    with stack_settings() as given:
        settings = replace(
            given,
            has_metrics=True,
            is_unsafe_grace=True,
            object_store_url=store_url,
            inherited={**given.inherited, **environment},
        )
        with (
            prometheus(folder, targets / "*.json", rules.rules(FACTOR), scrape_secs=1) as server,
            Stack(settings, print, parts=parts) as stack,
            stack.connect() as client,
        ):
            written = metrics_targets.path_in(stack.settings.data_dir)
            (targets / "stack.json").write_text(written.read_text())
            number = len(json.loads(written.read_text()))
            # An event that a counter has before its first reading is no rise.
            wait_until(lambda: len(server.query("up == 1")) == number, "all targets to be up")
            yield LiveStack(stack, client, server, targets, folder)
