"""Background jobs go on after whatever one run raises."""

import psycopg
import pytest

from meta import metrics
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Unavailable
from meta.process.shutdown import Shutdown
from meta.watches import expiry
from meta.watches.background import BackgroundJob, repeat
from tests.support.meta.server import MetaServer


def failures(job: str) -> float:
    name = "segplane_meta_background_failures_total"
    return metrics.META.get_sample_value(name, {"job": job}) or 0.0


def last_success(job: str) -> float:
    name = "segplane_meta_background_success_timestamp_seconds"
    return metrics.META.get_sample_value(name, {"job": job}) or 0.0


@pytest.mark.parametrize("error", [Unavailable("away"), ZeroDivisionError()], ids=repr)
def test_a_job_goes_on_after_a_failure_and_counts_it(error: Exception) -> None:
    shutdown, runs = Shutdown(), 0
    name = f"fails_{type(error).__name__}"

    def run() -> None:
        nonlocal runs
        runs += 1
        if runs <= 2:
            raise error
        shutdown.request()

    repeat(BackgroundJob(name, 0.001, run), shutdown)

    assert runs == 3
    assert failures(name) == 2
    assert last_success(name) > 0


class Pauses(Shutdown):
    """A shutdown that comes after some pauses, none of which is waited for."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._most = most

    def wait(self, seconds: float | None = None) -> bool:
        assert seconds is not None
        self.seconds.append(seconds)
        if len(self.seconds) == self._most:
            self.request()
        return self.is_requested


def test_a_job_without_work_rests_longer_until_it_has_some() -> None:
    pauses, work = Pauses(7), iter([True, False, False, False, False, True, None])

    repeat(BackgroundJob("idles", 1.0, lambda: next(work), idle_secs_max=6.0), pauses)

    assert pauses.seconds == [1.0, 2.0, 4.0, 6.0, 6.0, 1.0, 1.0]


def test_a_job_that_fails_rests_longer_until_it_succeeds() -> None:
    pauses, outcomes = Pauses(6), iter([None, 1, 1, 1, None, 1])

    def run() -> None:
        if next(outcomes):
            raise Unavailable("away")

    repeat(BackgroundJob("retries", 1.0, run, idle_secs_max=6.0), pauses)

    assert pauses.seconds == [1.0, 2.0, 4.0, 6.0, 1.0, 2.0]


@pytest.mark.long
def test_an_expiry_rule_that_fails_keeps_no_other_from_running(
    meta_server: MetaServer, meta_settings: Settings, database_url: str
) -> None:
    transactions = Transactions(meta_server.running.database)
    rounds = expiry.Expiry(transactions, meta_settings, Shutdown())
    before, usage_before = failures("audit"), last_success("usage")
    with psycopg.connect(database_url) as connection:
        # The error is none that meta foresees.
        connection.execute("ALTER TABLE audit_log RENAME TO elsewhere")

    rounds.run_round()

    assert failures("audit") == before + 1
    assert last_success("usage") > usage_before
