"""Alerts of a slow bucket and of wrong clocks, in a stack over S3: `make test-alerts`."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from pathlib import Path

import pytest

from dataplane.readiness import is_serving
from segplane.deploy.alerts import ALERTS
from segplane.stack.dev import COLLECTOR
from tests.deploy.live_stack import LiveStack, live_stack
from tests.deploy.not_made import OF_STORE_AND_CLOCKS
from tests.deploy.repeated import export, repeated
from tests.support.object_store.faulty_proxy import (
    Forward,
    ProxyAnswer,
    Request,
    running_proxy,
)
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY
from tests.support.prometheus.programs import program
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.alerts, pytest.mark.timeout(900)]
SKEW_SECS = 120
# The least that a collector may have; half of it is for one token.
BUFFER_BYTES = 1 << 20
RECORDS = 100
# A folder of modules that Python reads before those of a process.
WRONG_CLOCK = f"""
import time
right, right_nanos = time.time, time.time_ns
time.time = lambda: right() + {SKEW_SECS}
time.time_ns = lambda: right_nanos() + {SKEW_SECS} * 10**9
"""
# The clock of the database's sessions, as a test sets it.
STEPPED_CLOCK = """
CREATE SCHEMA clock;
CREATE TABLE clock.step (ahead interval NOT NULL);
INSERT INTO clock.step VALUES ('0');
CREATE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT pg_catalog.now() + ahead FROM clock.step';
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
    AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM clock.step';
CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT pg_catalog.statement_timestamp() + ahead FROM clock.step';
ALTER DATABASE segplane SET search_path = clock, pg_catalog, public;
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid();
"""


class WrongStore:
    """A bucket that can be slow to take baby segments, and whose clock can be behind."""

    def __init__(self) -> None:
        self.skew_secs = 0
        self.takes_babies = threading.Event()
        self.takes_babies.set()

    def answer(self, request: Request, forward: Forward) -> ProxyAnswer:
        """Answer as the server behind does, later and at another time."""
        if request.method == "PUT" and "ingest-stream" in request.target:
            self.takes_babies.wait(300.0)
        answered = forward(request)
        headers = [
            (name, self._shifted(value) if name.lower() == "date" else value)
            for name, value in answered.headers
        ]
        return ProxyAnswer(answered.status, headers, answered.body, answered.claimed_length)

    def _shifted(self, value: str) -> str:
        moment = parsedate_to_datetime(value).timestamp() - self.skew_secs
        return format_datetime(datetime.fromtimestamp(moment, UTC), usegmt=True)


@pytest.fixture(scope="module")
def bucket() -> WrongStore:
    return WrongStore()


@pytest.fixture(scope="module")
def live(
    s3_endpoint: str, bucket: WrongStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveStack]:
    from tests.support.object_store.moto import fresh_location

    program("prometheus")
    environment = {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_EC2_METADATA_DISABLED": "true",
        "COLLECTOR_BUFFER_SIZE_BYTES_MAX": str(BUFFER_BYTES),
    }
    with pytest.MonkeyPatch.context() as patch, running_proxy(s3_endpoint) as proxy:
        for name, value in environment.items():
            patch.setenv(name, value)
        proxy.fault = bucket.answer
        fresh_location(s3_endpoint)
        url = fresh_location(proxy.url).url()
        folder = tmp_path_factory.mktemp("alerts")
        with live_stack(folder, environment, url, (COLLECTOR, "janitor")) as running:
            yield running


def test_a_bucket_that_is_slow(live: LiveStack, bucket: WrongStore) -> None:
    url = live.stack.settings.otlp_http_url
    live.run("datasets", "create", "other")
    tokens = [live.stack.token, live.token_for("other")]
    bucket.takes_babies.clear()
    try:
        with ExitStack() as senders:
            for token in tokens:
                act = partial(export, url, token, RECORDS)
                senders.enter_context(repeated(act, 16.0, threads=16))
            live.await_alerts("SegplaneCollectorFull")
            bucket.takes_babies.set()
    finally:
        bucket.takes_babies.set()


def test_a_process_and_a_bucket_whose_clocks_are_wrong(
    live: LiveStack, bucket: WrongStore, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WRONG_CLOCK)
    bucket.skew_secs = 2 * SKEW_SECS
    live.stop("janitor")
    live.start_with("janitor", PYTHONPATH=str(tmp_path))
    live.await_alerts("SegplaneClockOff", "SegplaneStoreClockOff")


def test_a_database_whose_clock_steps(live: LiveStack) -> None:
    with live.database() as database:
        database.execute(STEPPED_CLOCK)
    wait_until(lambda: is_serving(live.stack.settings.meta_address), "meta", tick=live.tick)
    with live.database() as database:
        database.execute("UPDATE clock.step SET ahead = interval '1 minute'")
    live.await_alerts("SegplaneDatabaseClockSteps direction=forward")


def test_every_such_alert_has_fired(live: LiveStack) -> None:
    assert live.fired == OF_STORE_AND_CLOCKS
    assert live.fired <= {alert.name for alert in ALERTS}
