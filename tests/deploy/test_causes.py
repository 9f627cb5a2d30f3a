"""Each alert whose cause can be made here is fired by that cause, in a real stack and Prometheus.

The tests share a stack and run in their order: `make test-alerts`. Each waits for its alerts
together, because most of the time passes while conditions hold.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest

from dataplane.readiness import is_serving
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segments.keys import baby_key, merged_prefix
from segplane.deploy.alerts import ALERTS
from segplane.stack.dev import COLLECTOR
from segplane.stack.preflight import claim_ports
from tests.deploy.live_stack import LiveStack, live_stack
from tests.deploy.not_made import NOT_MADE, OF_STORE_AND_CLOCKS
from tests.deploy.repeated import broken_off, export, health_watches, not_a_request, query, repeated
from tests.support.prometheus.programs import program
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.alerts, pytest.mark.timeout(900)]
# More events a second than the rules allow.
FLOOD_PER_SEC = 25.0
# More segments than the deletion brake lets through in any case.
BRAKED_SEGMENTS = 110


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveStack]:
    program("prometheus")
    with live_stack(tmp_path_factory.mktemp("alerts")) as running:
        yield running


@pytest.fixture(autouse=True)
def exports(live: LiveStack) -> Iterator[None]:
    """Send an export each second, as senders do."""
    with repeated(partial(export, live.stack.settings.otlp_http_url, live.stack.token), 1.0):
        yield


def metrics_address(live: LiveStack, process: str) -> str:
    return f"127.0.0.1:{live.stack.settings.metrics_ports[f'{process}_METRICS_PORT']}"


def pin(live: LiveStack, dataset: str) -> str:
    """Pin the newest version of a dataset."""
    request = pb.PinVersionRequest(pin_id=str(uuid4()), owner="test", dataset_name=dataset)
    live.client.operations.PinVersion(request)
    return request.pin_id


@contextmanager
def watching(live: LiveStack) -> Iterator[None]:
    """Watch the default dataset, over a connection that nothing else uses."""
    with live.stack.connect() as client:
        watch = client.operations.WatchDataset(pb.WatchDatasetRequest(dataset_name="default"))
        next(watch)
        try:
            yield
        finally:
            watch.cancel()


@contextmanager
def canary(live: LiveStack) -> Iterator[None]:
    """Run a canary that takes a record for late after a second, and for lost after 12."""
    environment = {
        **os.environ,
        "SEGPLANE_META_ADDRESS": live.stack.settings.meta_address,
        "SEGPLANE_CANARY_TOKEN": live.run("canary", "--create").strip(),
    }
    port = claim_ports({"canary": 0})["canary"]
    options = ("--every", "2", "--late", "1", "--timeout", "12", "--metrics-port", str(port))
    command = (sys.executable, "-m", "segplane", "canary", *options)
    process = subprocess.Popen(
        [*command, "--endpoint", live.stack.settings.otlp_http_url],
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        with live.also_scraped("canary", f"127.0.0.1:{port}", "segplane"):
            yield
    finally:
        process.terminate()
        process.wait()


class TextFiles(SimpleHTTPRequestHandler):
    """Serves files as a node exporter serves what it reads."""

    def guess_type(self, path: object) -> str:
        """Say that all is text."""
        return "text/plain"

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


@contextmanager
def metrics_file(live: LiveStack, folder: Path) -> Iterator[Path]:
    """Give a file whose metrics are scraped."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(TextFiles, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with live.also_scraped("fsck", f"127.0.0.1:{server.server_port}", "node"):
            yield folder / "metrics"
    finally:
        server.shutdown()
        server.server_close()


def test_senders_and_strangers(live: LiveStack) -> None:
    """First, because a token must live for minutes before its renewal is due."""
    settings, alerts = live.stack.settings, live.firing()
    live.run("access", "create", "--role", "reader", "--subject", "ends-soon", "--expires", "5m")
    caused = (
        *("SegplaneExportsRefused outcome=unauthenticated", "SegplaneMetricsRequestsFail"),
        *("SegplaneLibraryMessages", "SegplaneCallsRestricted", "SegplaneQueriesRefused"),
        *("SegplaneBoundReached bound=watches", "SegplaneDeletionHeld"),
        "SegplaneCredentialEnds kind=access_token",
    )
    assert not alerts & {*caused}
    live.run("deletion", "--hold")
    with ExitStack() as floods:
        for _ in range(2):
            floods.enter_context(watching(live))
        for act, per_sec in (
            (partial(export, settings.otlp_http_url, "it_wrong"), 2.0),
            (partial(broken_off, metrics_address(live, "GATEWAY")), FLOOD_PER_SEC),
            (partial(not_a_request, settings.gateway_bind), FLOOD_PER_SEC),
            (
                partial(
                    query, settings.gateway_bind, 'default | where body contains "record" | count'
                ),
                1.0,
            ),
        ):
            floods.enter_context(repeated(act, per_sec))
        floods.enter_context(health_watches(settings.meta_address, FLOOD_PER_SEC))
        live.await_alerts(*caused, seconds=360)
    live.run("deletion", "--release")


def test_data_that_does_not_come(live: LiveStack, tmp_path: Path) -> None:
    """An object that is missing, payloads that cannot be decoded, counts that are too small."""
    lost, damaged, counted, uncounted = (live.collector() for _ in range(4))
    baby = lost.put("a")
    lost.store.delete([baby_key(lost.stream_id, 0)])
    lost.commit(baby)
    damaged.commit(damaged.put(payloads=[b"\xff\xff"]), 1)
    counted.commit(counted.put("a", "b", "c"), 1)
    uncounted.commit(uncounted.put("a", "b", "c", is_stamped=False), 1)
    live.await_alerts(
        *("SegplaneStreamParked", "SegplaneRecordsQuarantined", "SegplaneDatasetWaits"),
        *("SegplaneExcessEvents", "SegplaneRecordsLate", "SegplaneNurseryLags"),
        *("SegplaneFreshnessBudgetBurnsFast", "SegplaneFreshnessBudgetBurnsSlowly"),
        "SegplaneObjectsDamaged",
    )

    name = live.client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=counted.dataset_id)).name
    live.run("datasets", "limits", name, "--excess-events", "2")
    with metrics_file(live, tmp_path) as path:
        live.run("fsck", "--metrics", str(path), exit_code=1)
        live.await_alerts("SegplaneExcessAllowed", "SegplaneFsckFindsProblems kind=violation")
        # Nobody waits for eight days: it ended a month ago.
        finished = re.compile(r"(?m)^(segplane_fsck_finished_timestamp_seconds\S*) .*")
        path.write_text(finished.sub(rf"\1 {time.time() - 30 * 86_400:.0f}", path.read_text()))
        live.await_alerts("SegplaneFsckNotRun")
    live.run("streams", "skip", lost.stream_id, "0", "--accept-loss")


def test_a_retention_that_takes_all_of_a_dataset(live: LiveStack) -> None:
    case = live.case(BRAKED_SEGMENTS, is_of_one_day=False)
    live.run("datasets", "retention", case.name, "--created-retention", "1s")
    live.await_alerts("SegplaneDeletionBraked")


def test_merges_that_fail_and_a_reader_that_keeps_their_inputs(live: LiveStack) -> None:
    live.stop("merge_worker")
    damaged, kept, later = live.case(24), live.case(24), live.case(24)
    live.run("datasets", "columns", later.name, "--promote", "status:string:record:status")
    for info in damaged.store.list(merged_prefix(damaged.dataset_id)):
        (live.objects / info.key).write_bytes(bytes(info.size_bytes))
    pin_id = pin(live, kept.name)
    # A pin that was taken hours ago, so that nobody waits for them.
    with live.database() as database:
        database.execute("UPDATE pins SET created_at = created_at - interval '6 hours'")
        # A type of a later release, whose meta runs beside this merge worker.
        database.execute("UPDATE promoted_columns SET type = 99 WHERE name = 'status'")
    live.start("merge_worker")
    renewal = pb.RenewPinRequest(pin_id=pin_id, lease_secs=300)
    with repeated(lambda: live.client.operations.RenewPin(renewal), 0.5):
        live.await_alerts(
            *("SegplaneMergesFail", "SegplaneMergesDeferred", "SegplanePinsHoldStorage"),
            seconds=280,
        )
    live.run("pins", "release", pin_id)


def test_workers_that_are_stopped(live: LiveStack) -> None:
    """The canary sees from outside that nothing is merged."""
    with canary(live):
        live.await_alerts("SegplaneCanaryLate result=late")
        for name in ("nursery", "merge_worker", "janitor"):
            live.stop(name)
        live.case(30)
        live.await_alerts(
            *("SegplaneNoNursery", "SegplaneNoMergeWorker", "SegplaneNoJanitor"),
            *("SegplaneTargetDown", "SegplaneMergeDebt"),
            *("SegplaneCanaryLost result=lost", "SegplaneCanarySilent"),
        )
    live.stop(COLLECTOR)
    live.await_alerts("SegplaneNoCollector")
    live.start(COLLECTOR, "nursery", "merge_worker", "janitor")


def test_a_postgres_that_is_slow(live: LiveStack) -> None:
    """Somebody locks a table again and again, for as long as a commit may wait."""

    def lock() -> None:
        with live.database() as database, database.transaction():
            database.execute("LOCK TABLE stream_heads IN EXCLUSIVE MODE")
            database.execute("SELECT pg_sleep(2.5)")

    with repeated(lock, 2.0):
        live.await_alerts("SegplaneCallsSlow")


def test_a_postgres_that_is_read_only(live: LiveStack) -> None:
    with live.database() as database:
        database.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        database.execute("SELECT pg_reload_conf()")
    try:
        live.await_alerts(
            "SegplaneDatabaseNeedsOperator cause=read_only",
            *("SegplaneMetaJobFails", "SegplaneMetaJobHangs exported_job=visibility"),
            *("SegplaneExportBudgetBurnsFast", "SegplaneExportBudgetBurnsSlowly"),
        )
    finally:
        with live.database() as database:
            database.execute("SET default_transaction_read_only = off")
            database.execute("ALTER SYSTEM RESET default_transaction_read_only")
            database.execute("SELECT pg_reload_conf()")
    wait_until(lambda: is_serving(live.stack.settings.meta_address), "meta", tick=live.tick)


def test_a_meta_that_hangs_and_one_that_is_stopped(live: LiveStack) -> None:
    # Quotas are compared with usage at the start of meta, and then each ten minutes.
    live.run("datasets", "create", "limited")
    live.run("datasets", "limits", "limited", "--records-per-month", "10")
    export(live.stack.settings.otlp_http_url, live.token_for("limited"), 10)
    live.signal("meta", signal.SIGSTOP)
    try:
        live.await_alerts("SegplaneNoMeta")
    finally:
        live.signal("meta", signal.SIGCONT)
    child = live.stack.detach("meta")
    child.stop()
    child.wait_stopped(time.monotonic() + 60)
    live.await_alerts("SegplaneJanitorFails")
    # As in a bucket that was put back to an older state.
    for path in (live.objects / "witness").rglob("*"):
        if path.is_file():
            path.unlink()
    child.start()
    live.stack._children["meta"] = child
    live.await_alerts("SegplaneWitnessAmiss", "SegplaneQuotaNearlyUsed limit=dataset")


def test_nothing_that_is_scraped(live: LiveStack) -> None:
    path = live.targets / "stack.json"
    text = path.read_text()
    path.write_text("[]")
    live.await_alerts("SegplaneNothingScraped")
    path.write_text(text)


def test_every_alert_has_fired_or_cannot_be_made_here(live: LiveStack) -> None:
    names = {alert.name for alert in ALERTS}

    assert not live.fired & {*NOT_MADE}
    assert live.fired | OF_STORE_AND_CLOCKS | {*NOT_MADE} == names
