"""One run of the demo: its own stack in a folder, and checks; the first that fails ends it."""

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

from dataplane.location import ask_location
from dataplane.stream_poll import read_streams
from kql.pushdown.reads import DatasetRead
from meta.client import MetaClient
from meta.process.shutdown import Shutdown
from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2, janitor_pb2, segment_lookup_pb2
from segments.keys import QUARANTINE_ROOT, merged_prefix
from segments.store.open import open_stores
from segplane.cli.console import timed_report
from segplane.cli.demo import shop
from segplane.cli.demo.proof import DemoFailed, check_records, check_table
from segplane.cli.demo.relay import Relay, RequestLog
from segplane.cli.demo.sources import LOG_ROOTS, export_of, find_lines
from segplane.cli.environment.process_settings import require_valid
from segplane.fsck import catalog_check
from segplane.query.engine import QueryLimits
from segplane.query.runs import Ask
from segplane.query.runs import run as run_query
from segplane.query.sources import QueryPlace
from segplane.read.bounds import TimeBounds
from segplane.read.dataset import OpenDataset
from segplane.read.lookup import find_all
from segplane.read.opening import open_through
from segplane.stack import config, console
from segplane.stack.dev import COLLECTOR, GATEWAY, PARTS, Report, Stack

MACHINE, OWN, SHOP = "machine", "segplane", "shop"
# Every wave is merged before the next is sent, so each day has as many small segments as waves.
WAVES = 8
BATCH_LINES = 512
DEADLINE_SECS = 300.0
POLL_SECS = 0.25
_CHECK_EVERY_SECS = 1.0
KEPT = """
Console   {address}
          opens once, within ten minutes; another: segplane console --data-dir {folder}
          Datasets, then shop: a log of severity ERROR belongs to the trace of an order that failed.

Ctrl-C stops everything; the data stays in {folder}.
"""
# The processes' own telemetry reaches the collector through the demo's relay.
TELEMETRY_PACE = {
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_METRIC_EXPORT_INTERVAL": "3000",
    "OTEL_BSP_SCHEDULE_DELAY": "1000",
    "OTEL_BLRP_SCHEDULE_DELAY": "1000",
}
# Shown of a dataset to a person.
_QUESTIONS = (
    "{} | summarize records = count() by signal, service_name | top 8 by records",
    "{} | where signal == 'logs' | project timestamp, service_name, body | take 6",
)


def run(folder: Path, *, keep: bool = False) -> None:
    """Raises DemoFailed unless everything held; `keep` leaves the stack running until a signal."""
    report = timed_report()
    settings = config.StackSettings(
        data_dir=folder,
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        is_unsafe_grace=True,
        inherited=config.inherited_environment(),
    )
    require_valid(settings, PARTS)
    with Relay() as relay:
        telemetry = {"OTEL_EXPORTER_OTLP_ENDPOINT": relay.endpoint, **TELEMETRY_PACE}
        stack = Stack(settings, report, parts=(COLLECTOR, GATEWAY), telemetry=telemetry)
        with stack, stack.connect() as client:
            demo = _Demo(stack, relay, client, report)
            demo.run()
            report("all checks passed")
            if keep:
                demo.show_console()
                _wait_for_signal(stack)
    if not keep:
        report("segplane demo --keep leaves the stack running, to be looked at in the console")


def _wait_for_signal(stack: Stack) -> None:
    shutdown = Shutdown().install((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    while not shutdown.wait(_CHECK_EVERY_SECS):
        stack.check()


@dataclass(slots=True)
class _Demo:
    """A run over a stack that has meta and a collector; the rest starts when it is needed."""

    stack: Stack
    relay: Relay
    client: MetaClient
    report: Report
    log: RequestLog = field(default_factory=RequestLog)

    def run(self) -> None:
        machine_id, token = self._dataset(MACHINE)
        own_id, own_token = self._dataset(OWN)
        self.relay.open(self.stack.settings.otlp_http_url, own_token)
        self.stack.start_parts(config.PIPELINE)
        self._send_in_waves(machine_id, token)
        before = self._segments(MACHINE)
        self._show(MACHINE)
        check_records("before compaction", before, self.log)
        self._compact(len(before))
        after = self._segments(MACHINE)
        self.report(f"{len(before)} segments were compacted to {len(after)}")
        check_records("after compaction", after, self.log)
        self._check_objects(machine_id, len(after))
        uri = f"http://127.0.0.1:{self.stack.settings.gateway_port}/iceberg"
        check_table(uri, MACHINE, len(self.log.acknowledged))
        # The relay lets no more records through, so that those of its log can be waited for.
        self.relay.close()
        self._await_merged(own_id)
        self._show(OWN)
        check_records("own telemetry", self._segments(OWN), self.relay.log)
        self._fsck()

    def show_console(self) -> None:
        """Send the example, and print the address of the console once it can be seen there."""
        dataset_id, token = self._dataset(SHOP)
        url = self.stack.settings.otlp_http_url
        for path, export in zip(("/v1/traces", "/v1/logs"), shop.exports(), strict=True):
            status, reply = self.log.send(url, token, path, export)
            if status != HTTPStatus.OK:
                raise DemoFailed(f"the collector answers {status} to the example: {reply!r}")
        self._await_merged(dataset_id)
        settings = self.stack.settings
        address = console.address_of(settings.gateway_bind, settings.console_key_path)
        print(KEPT.format(address=address, folder=settings.data_dir), flush=True)

    def _dataset(self, name: str) -> tuple[str, str]:
        dataset = self.client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
        token = self.client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(name=f"demo {name}", dataset_name=name)
        )
        return dataset.id, token.plaintext_token

    def _send_in_waves(self, dataset_id: str, token: str) -> None:
        # The stack's own logs too: a bare container may have no others.
        lines = find_lines((*LOG_ROOTS, str(self.stack.log_dir)))
        self.report(f"{len(lines):,} lines in {len({line.source for line in lines})} log files")
        url = self.stack.settings.otlp_http_url
        for wave in range(WAVES):
            part = lines[wave::WAVES]
            for start in range(0, len(part), BATCH_LINES):
                export = export_of(part[start : start + BATCH_LINES])
                status, reply = self.log.send(url, token, "/v1/logs", export)
                if status != HTTPStatus.OK:
                    raise DemoFailed(f"the collector answers {status} to log lines: {reply!r}")
            self._await_merged(dataset_id)
            self.report(f"{len(self.log.acknowledged):,} lines are acknowledged and merged")

    def _await_merged(self, dataset_id: str) -> None:
        """Wait until everything committed by now is merged."""
        goal = sum(stream.committed_offset + 1 for stream in read_streams(self.client))

        def is_merged() -> bool:
            streams = read_streams(self.client)
            items = [e for stream in streams for e in stream.datasets if e.dataset_id == dataset_id]
            return sum(entry.merged_offset + 1 for entry in items) >= goal

        self._wait(f"merging {goal} babies", is_merged)

    def _compact(self, segments: int) -> None:
        """Start the janitor and wait until nothing is left to merge or to delete."""
        self.stack.start_parts("janitor")

        def is_done() -> bool:
            request = janitor_pb2.GetJanitorStatsRequest(dataset_name=MACHINE)
            stats = self.client.janitor.GetJanitorStats(request)
            has_tombstones = stats.segments_incl_tombstoned > stats.segment_count
            is_open = has_tombstones or stats.outstanding_merge_tasks
            return stats.segment_count < segments and not is_open

        self._wait("compaction and deletion", is_done)

    def _wait(self, what: str, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_SECS
        while not is_done():
            self.stack.check()
            if time.monotonic() > deadline:
                raise DemoFailed(f"{what} did not happen within {DEADLINE_SECS:.0f} s")
            time.sleep(POLL_SECS)

    def _segments(self, dataset: str) -> Sequence[common_pb2.SegmentInfo]:
        request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[dataset])
        return list(find_all(self.client, request))

    def _show(self, dataset: str) -> None:
        ask = Ask("kql", "table", QueryPlace(opener=self._open), QueryLimits(), rows_max=8)
        for question in _QUESTIONS:
            run_query(self.client, question.format(dataset), ask, datetime.now(UTC), None)

    def _open(self, read: DatasetRead, bounds: TimeBounds, as_of: int | None) -> OpenDataset:
        return open_through(self.stack.connect(), read.name, bounds, read.columns, as_of)

    def _check_objects(self, dataset_id: str, segments: int) -> None:
        """The folder holds the live segments' objects, and no other; nothing was quarantined."""
        store = open_stores(ask_location(self.client, "demo").stores)
        objects = sum(1 for _ in store.list(merged_prefix(dataset_id)))
        if objects != segments:
            raise DemoFailed(f"{objects} objects in the store, {segments} segments")
        if next(iter(store.list(QUARANTINE_ROOT)), None) is not None:
            raise DemoFailed("records were quarantined")

    def _fsck(self) -> None:
        report = catalog_check.check(self.client, is_deep=True, orphan_age_secs=0)
        for violation in report.violations:
            print(violation)
        print(
            f"{report.streams} streams, {report.segments} segments, {report.objects} objects, "
            f"{report.footers} footers: {len(report.violations)} violations"
        )
        if report.violations:
            raise DemoFailed("fsck found violated invariants")
