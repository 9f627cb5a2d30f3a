"""A nursery reports the datasets that it withholds, until it merges them."""

from collections.abc import Callable

from click.testing import CliRunner

from dataplane.clocks import Clock
from meta.process.shutdown import Shutdown
from meta.self_report import SelfReport
from meta.v1 import catalog_pb2, ingestion_pb2
from nursery.registration.refused import RETRY_SECS
from nursery.serving import Cycles
from segplane.__main__ import app
from tests.support.clock import SettableClock
from tests.support.meta.explanations import explain
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery, texts


class SteppedShutdown(Shutdown):
    """Takes one step in place of each rest, and requests the end after the last one."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        super().__init__()
        self._steps = list(steps)

    def wait(self, seconds: float | None = None) -> bool:
        if self._steps:
            self._steps.pop(0)()
        if not self._steps:
            self.request()
        return self.is_requested


def test_a_withheld_dataset_is_reported_explained_and_forgotten_once_it_is_merged(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    client, monotonic = collector.client, SettableClock()
    name = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=collector.dataset_id)).name
    details: list[str] = []

    def note() -> None:
        request = ingestion_pb2.DownloadConfigRequest(report=report.message())
        client.ingestion.DownloadConfig(request)
        held = explain(client, name).get("WITHHELD")
        details.append(held.detail if held else "")

    def allow() -> None:
        note()
        command = ["datasets", "limits", name, "--excess-events", "2"]
        done = CliRunner().invoke(app, [*command, "--meta-address", meta_server.address])
        assert done.exit_code == 0, done.output
        monotonic.now += RETRY_SECS

    collector.commit(collector.put("a", "b", "c"), num_records=1)
    driver = nursery(client, clock=Clock(monotonic=monotonic))
    # The dataset is asked for again after the cycle that finds its retry due.
    cycles = Cycles(driver, lambda: None, 1.0, SteppedShutdown(allow, lambda: None, note))
    report = SelfReport("nursery", "nursery-1", "settings", driver.progress)

    cycles.start()
    assert cycles.end(60.0, lambda: None)

    assert cycles.error is None
    assert "hold 3 events" in details[0]
    assert (details[1:], texts(collector)) == ([""], ["a", "b", "c"])
