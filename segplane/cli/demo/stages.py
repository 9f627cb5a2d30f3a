"""Stages of the demo, each timed; the first failed check ends it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from dataplane.location import ask_location
from meta.client import MetaClient
from meta.v1 import catalog_pb2, ingest_token_pb2
from segments.keys import QUARANTINE_ROOT, merged_prefix
from segments.store.open import open_stores
from segplane.cli.demo import picture, proof, sender, table
from segplane.cli.demo.relay import Relay
from segplane.cli.demo.sources import LOG_ROOTS, LogLine, find_lines
from segplane.cli.demo.watch import Figures, read_figures, wait_for
from segplane.cli.output import size_text
from segplane.fsck import catalog_check
from segplane.stack.config import PIPELINE
from segplane.stack.dev import Stack

MACHINE = "machine"
OWN = "segplane"
# Every wave is merged before the next is sent, so each day has as many small segments as waves.
WAVES = 8
MERGE_DEADLINE_SECS = 180.0
COMPACT_DEADLINE_SECS = 300.0
# A machine without any log, or processes without telemetry, would prove nothing.
RECORDS_MIN = 2 * WAVES


class DemoFailed(Exception):
    """A check failed; the message names it."""


@dataclass(slots=True)
class Demo:
    """One run over a stack that has meta and a collector; the rest starts when it is needed."""

    stack: Stack
    relay: Relay
    client: MetaClient
    console: Console
    started: float
    sent: set[str] = field(default_factory=set)
    lines: list[LogLine] = field(default_factory=list)
    stages: list[tuple[str, float]] = field(default_factory=list)
    machine_id: str = ""

    def run(self) -> None:
        """Raises DemoFailed, SendFailed or Late if anything does not hold."""
        self.machine_id, token = self._dataset(MACHINE)
        _, own_token = self._dataset(OWN)
        self.relay.open(self.stack.settings.otlp_http_url, own_token)
        self.stack.start_parts(PIPELINE)
        self.stages.append(("start", time.monotonic() - self.started))
        # The stack's own logs too: a bare container may have no others.
        self.lines = find_lines((*LOG_ROOTS, str(self.stack.log_dir)))
        sources = {line.source for line in self.lines}
        self.console.print(f"{len(self.lines):,} lines in {len(sources)} log files")
        with self._stage("collect and merge"):
            self._send_in_waves(token)
        with self._stage("query before compaction"):
            before = proof.read_segments(self.client, MACHINE)
            self._show(before)
            self._must_hold("before compaction", before, self.sent, self.sent)
        with self._stage("compact and delete"):
            self._compact(before)
        with self._stage("query after compaction"):
            after = proof.read_segments(self.client, MACHINE)
            self._must_hold("after compaction", after, self.sent, self.sent)
            self._objects_must_match(after)
            self.console.print(picture.draw(MACHINE, before.segments, after.segments))
        with self._stage("query through the gateway"):
            self._prove_table()
        with self._stage("own telemetry"):
            self._prove_own()
        with self._stage("fsck"):
            self._check()
        self._show_stages()

    def _dataset(self, name: str) -> tuple[str, str]:
        dataset = self.client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
        token = self.client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(name=f"demo {name}", dataset_name=name)
        )
        return dataset.id, token.plaintext_token

    def _send_in_waves(self, token: str) -> None:
        with self._progress() as progress:
            lines = progress.add_task("log lines acknowledged", total=len(self.lines))
            merged = progress.add_task("babies merged", total=None)
            segments = progress.add_task("merged segments", total=None)

            def show(figures: Figures) -> None:
                progress.update(merged, completed=figures.merged, total=figures.babies)
                progress.update(segments, completed=figures.segments, total=figures.segments)

            for wave in range(WAVES):
                part = self.lines[wave::WAVES]
                for ids in sender.send(part, self.stack.settings.otlp_http_url, token):
                    self.sent.update(ids)
                    progress.advance(lines, len(ids))
                    show(self._figures())
                self._await_merged(MACHINE, self.machine_id, show)

    def _await_merged(self, name: str, dataset_id: str, show: Callable[[Figures], None]) -> None:
        """Wait until everything committed by now is merged."""
        goal = read_figures(self.client, name, dataset_id).babies

        def is_merged() -> bool:
            self.stack.check()
            figures = read_figures(self.client, name, dataset_id)
            show(figures)
            return figures.merged >= goal

        wait_for(f"merging {goal} babies", is_merged, MERGE_DEADLINE_SECS)

    def _compact(self, before: proof.Reading) -> None:
        """Start the janitor and wait until nothing is left to merge or to delete."""
        self.stack.start_parts("janitor")
        with self._progress() as progress:
            count = len(before.segments)
            gone = progress.add_task("segments compacted away", total=count)
            deleted = progress.add_task("tombstoned objects deleted", total=None)
            most_tombstoned = 0

            def is_done() -> bool:
                nonlocal most_tombstoned
                self.stack.check()
                figures = self._figures()
                compacted = count - figures.segments
                most_tombstoned = max(most_tombstoned, figures.tombstoned, compacted)
                progress.update(gone, completed=compacted)
                left = most_tombstoned - figures.tombstoned
                progress.update(deleted, completed=left, total=most_tombstoned)
                return compacted > 0 and figures.tasks == figures.tombstoned == 0

            wait_for("compaction and deletion", is_done, COMPACT_DEADLINE_SECS)
            progress.update(gone, total=count - self._figures().segments)

    def _prove_own(self) -> None:
        """Close the relay, wait for the records it let through, and compare them with its log."""
        self.relay.close()
        dataset = self.client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=OWN))
        self._await_merged(OWN, dataset.id, lambda _: None)
        reading = proof.read_segments(self.client, OWN)
        self._show(reading)
        acknowledged, offered = self.relay.acknowledged, self.relay.offered
        self._must_hold("own telemetry", reading, acknowledged, offered)

    def _prove_table(self) -> None:
        """Count the records as an engine of Iceberg does, through the gateway."""
        uri = f"http://127.0.0.1:{self.stack.settings.gateway_port}/iceberg"
        records = table.count_records(uri, MACHINE)
        self.console.print(
            f"proof, as an Iceberg table: {records:,} found by {uri}", soft_wrap=True
        )
        if records != len(self.sent):
            raise DemoFailed(f"the table has {records} records, {len(self.sent)} were sent")

    def _check(self) -> None:
        report = catalog_check.check(self.client, is_deep=True, orphan_age_secs=0)
        for violation in report.violations:
            self.console.print(violation, markup=False)
        self.console.print(
            f"{report.streams} streams, {report.segments} segments, {report.objects} objects, "
            f"{report.footers} footers: {len(report.violations)} violations",
            soft_wrap=True,
        )
        if report.violations:
            raise DemoFailed("fsck found violated invariants")

    def _figures(self) -> Figures:
        return read_figures(self.client, MACHINE, self.machine_id)

    def _must_hold(
        self,
        when: str,
        reading: proof.Reading,
        acknowledged: set[str] | frozenset[str],
        offered: set[str] | frozenset[str],
    ) -> None:
        result = proof.compare(reading, acknowledged, offered)
        self.console.print(
            f"proof, {when}: {result.sent:,} acknowledged, {result.read_back:,} found, "
            f"{result.missing} missing, {result.doubled} twice, {result.unknown} unknown: "
            + ("[green]every record exactly once[/]" if result.holds else "[red]BROKEN[/]"),
            soft_wrap=True,
        )
        if not result.holds:
            raise DemoFailed(f"{when}: the records found are not the records sent")
        if result.sent < RECORDS_MIN:
            raise DemoFailed(f"{when}: only {result.sent} records were sent, too few to prove it")

    def _objects_must_match(self, reading: proof.Reading) -> None:
        """The folder holds the live segments' objects, and no other; nothing was quarantined."""
        store = open_stores(ask_location(self.client, "demo").stores)
        objects = sum(1 for _ in store.list(merged_prefix(self.machine_id)))
        if objects != len(reading.segments):
            raise DemoFailed(f"{objects} objects in the store, {len(reading.segments)} segments")
        if next(iter(store.list(QUARANTINE_ROOT)), None) is not None:
            raise DemoFailed("records were quarantined")

    def _show(self, reading: proof.Reading) -> None:
        shown = Table(title=f"dataset {reading.dataset}", title_justify="left")
        shown.add_column("what")
        shown.add_column("records", justify="right")
        for signal, count in proof.counts_by_signal(reading):
            shown.add_row(f"signal {signal}", f"{count:,}")
        for service, count in proof.top_services(reading):
            shown.add_row(f"service {service}", f"{count:,}")
        shown.add_row("segments", f"{len(reading.segments):,}")
        shown.add_row("size", size_text(reading.size_bytes))
        self.console.print(shown)
        for moment, service, body in proof.sample(reading):
            line = f"  {moment}  {service}  {body}"
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _show_stages(self) -> None:
        shown = Table(title="time per stage", title_justify="left")
        shown.add_column("stage")
        shown.add_column("seconds", justify="right")
        for name, secs in self.stages:
            shown.add_row(name, f"{secs:.1f}")
        self.console.print(shown)

    def _progress(self) -> Progress:
        columns = (TextColumn("{task.description:28}"), BarColumn(), MofNCompleteColumn())
        return Progress(*columns, TimeElapsedColumn(), console=self.console)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self.console.rule(f"[bold]{name}", align="left")
        started = time.monotonic()
        yield
        self.stages.append((name, time.monotonic() - started))
