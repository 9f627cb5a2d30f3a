"""A dataset whose collector counted too few records waits for an operator, and no other with it."""

import shlex
from collections.abc import Sequence

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs
from structlog.typing import EventDict

from dataplane.clocks import Clock
from meta.metrics import NURSERY
from nursery.registration.refused import FORGET_SECS, RETRY_SECS, RETRY_SECS_MAX, RefusedDatasets
from segplane.__main__ import app
from tests.support.clock import SettableClock
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, run_here, texts


def send_undercounted(collector: CollectorDriver, *sent: str) -> None:
    """Commit a baby as if it held one record."""
    collector.commit(collector.put(*sent), num_records=1)


def waits(events: Sequence[EventDict]) -> list[str]:
    return [event["reason"] for event in events if event["event"] == "dataset_waiting"]


def run_command_in(reason: str, address: str) -> None:
    """Run the command that a message quotes."""
    _, *arguments = shlex.split(reason.split("`")[1])
    result = CliRunner().invoke(app, [*arguments, "--meta-address", address])
    assert result.exit_code == 0, result.output


def test_a_dataset_with_excess_events_waits_says_what_to_do_and_goes_on_when_it_is_done(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    other = CollectorDriver(collector.client, dataset(collector.client))
    monotonic = SettableClock()
    driver = nursery(collector.client, clock=Clock(monotonic=monotonic))
    send_undercounted(collector, "a", "b", "c")

    with capture_logs() as events:
        for text in ("d", "e"):
            other.send(text)
            driver.cycle()

    (reason,) = waits(events)
    assert "hold 3 events, their baby segments 1 records" in reason
    assert (texts(other), texts(collector)) == (["d", "e"], [])
    assert NURSERY.get_sample_value("segplane_nursery_waiting_datasets") == 1

    run_command_in(reason, meta_server.address)
    driver.cycle()
    assert texts(collector) == []
    monotonic.now += RETRY_SECS
    for _ in range(2):
        driver.cycle()

    assert texts(collector) == ["a", "b", "c"]
    assert NURSERY.get_sample_value("segplane_nursery_waiting_datasets") == 0


def test_a_refused_dataset_is_read_again_only_when_its_retry_is_due(
    collector: CollectorDriver,
) -> None:
    monotonic, runs = SettableClock(), list[int]()

    def run_counted(tasks, where):  # type: ignore[no-untyped-def]
        runs.append(len(tasks))
        return run_here(tasks, where)

    driver = nursery(collector.client, run_counted, clock=Clock(monotonic=monotonic))
    send_undercounted(collector, "a", "b")
    with capture_logs() as events:
        for _ in range(3):
            driver.cycle()
        monotonic.now += RETRY_SECS
        for _ in range(3):
            driver.cycle()

    assert sum(runs) == 2
    # The same figures are told once.
    assert len(waits(events)) == 1


def test_waits_double_up_to_a_quarter_of_an_hour_and_are_forgotten() -> None:
    monotonic = SettableClock()
    refused, secs = RefusedDatasets(monotonic), list[float]()
    for _ in range(6):
        refused.refuse("d", "why")
        started = monotonic.now
        while refused.withheld():
            monotonic.now += RETRY_SECS
        secs.append(monotonic.now - started)

    assert secs == [60, 120, 240, 480, RETRY_SECS_MAX, RETRY_SECS_MAX]
    assert refused.reasons() == {"d": "why"}
    monotonic.now += FORGET_SECS
    assert refused.reasons() == {}


@pytest.mark.parametrize("is_due", [False, True], ids=["waiting", "due"])
def test_an_accepted_dataset_waits_no_more(is_due: bool) -> None:
    monotonic = SettableClock()
    refused = RefusedDatasets(monotonic)
    refused.refuse("d", "why")
    monotonic.now += RETRY_SECS * is_due

    refused.accept("d")

    assert (refused.withheld(), refused.reasons()) == (frozenset(), {})
