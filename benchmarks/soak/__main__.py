"""`make soak`: a steady load through everything for half an hour; nothing may grow or be lost.

Exits with 1 on growth of memory, open files, connections, backlog or temporary files, on a record
that is not there exactly once, on a process that died, on an alert of deploy/ that was pending or
firing, and on a bar that does not hold.
SOAK_MINUTES and SOAK_MB_PER_SEC (of OTLP) say how long and how much; by default 30 minutes at half
of what the machine takes, which a burst measures first.
"""

import os
import signal
import sys
import time
from dataclasses import dataclass, field

from benchmarks.freshness import freshness_result
from benchmarks.harness import pictures, results
from benchmarks.soak.alert_watch import alert_watch
from benchmarks.soak.capacity import measure_capacity
from benchmarks.soak.load import Progress, SoakLoad
from benchmarks.soak.logs import count_warnings
from benchmarks.soak.markers import DATASET, Markers
from benchmarks.soak.probe import Probe, WrittenBytes
from benchmarks.soak.proof import read_back
from benchmarks.soak.run import SoakFailed, describe, drain, run_load
from benchmarks.soak.stack import SoakStack, make_datasets, soak_stack
from benchmarks.soak.verdict import GrowthAllowance, Sample, TooShort, Trend, trends
from dataplane.processes.children import ChildFailed
from meta.client import MetaClient
from segplane.fsck import catalog_check
from segplane.stack.dev import COLLECTOR, WORKERS

DATASETS = ("shop", "bank", "mail")
BURST = "burst"
SAMPLE_SECS = 10.0
REPORT_SECS = 60.0
STOP_SECS_MAX = 60.0
AMPLIFICATION_MAX = 5.0
LATE_SECS_MAX = 10.0
MIB = 2**20
ALLOWANCES = {
    "memory": GrowthAllowance(0.15, 64 * MIB),
    "files": GrowthAllowance(0.0, 10),
    # Each backend keeps open what it has touched, up to every relation there is.
    "files.postgres": GrowthAllowance(0.25, 50),
    "connections": GrowthAllowance(0.0, 5),
    # A few cycles' worth: the backlog swings with each merge.
    "backlog": GrowthAllowance(0.25, 10),
    "temporary": GrowthAllowance(0.0, 5),
    "objects": GrowthAllowance(0.25, 10),
    # Live segments become more with the data.
    "segments": GrowthAllowance(float("inf"), 0),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from the environment."""

    minutes: float
    # None = half of what the machine takes.
    mb_per_sec: float | None


@dataclass(slots=True)
class Soak:
    """One run; `findings` is what was wrong."""

    soak: SoakStack
    client: MetaClient
    settings: Settings
    probe: Probe
    samples: list[Sample] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _sampled: float = float("-inf")
    _reported: float = float("-inf")

    def run(self) -> list[results.Result]:
        """Load, drain, stop, prove; raises SoakFailed if it cannot come to an end."""
        tokens = make_datasets(self.client, (*DATASETS, DATASET, BURST))
        address = self.soak.stack.settings.otlp_grpc_address
        loaded = {name: tokens[name] for name in DATASETS}
        rate = self.settings.mb_per_sec or self._half_capacity(tokens[BURST])
        print(f"{rate:.1f} MB/s of OTLP for {self.settings.minutes:g} min", flush=True)
        load = SoakLoad(address, loaded, rate, 60 * self.settings.minutes)
        watching = alert_watch(self.soak, self.soak.stack.settings.data_dir / "prometheus")
        with watching as watch, WrittenBytes(self.soak.objects_dir) as written:
            with Markers(self.client, address, tokens[DATASET]) as markers:
                progress, freshened = run_load(self.soak, load, markers, self._tick)
            self._check_sent(progress, markers)
            print(f"drained in {drain(self.soak, self.client):.0f} s")
            self.findings += watch.findings()
            self._stop_all()
        self._check_growth()
        self._check_records(progress)
        if not markers.count_is_right():
            self.findings.append("the markers that are there are not those that were acknowledged")
        print(describe(freshened))
        return [
            freshness_result("soak_freshness_p99", freshened, self.settings.minutes),
            _amplification(written, self.settings.minutes),
        ]

    def _half_capacity(self, token: str) -> float:
        capacity = measure_capacity(self.soak, self.client, token)
        print(f"a burst was merged and compacted at {capacity:.1f} MB/s", flush=True)
        return capacity / 2

    def _tick(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._sampled < SAMPLE_SECS:
            return
        self._sampled = now
        self.samples.append(Sample(now - self._began, self.probe.sample()))
        if now - self._reported >= REPORT_SECS:
            self._reported = now
            self._report(progress)

    def _report(self, progress: Progress) -> None:
        values = self.samples[-1].values
        memory = sum(v for name, v in values.items() if name.startswith("memory."))
        files = sum(v for name, v in values.items() if name.startswith("files."))
        print(
            f"{self.samples[-1].secs / 60:5.1f} min  {progress.acknowledged_bytes / 1e6:8.1f} MB  "
            f"memory {memory / MIB:6.0f} MiB  files {files:4.0f}  "
            f"connections {values['connections']:3.0f}  "
            f"backlog {values['backlog.babies']:3.0f} babies {values['backlog.tasks']:2.0f} tasks  "
            f"temporary {values['temporary.work'] + values['temporary.store']:3.0f}  "
            f"objects {values['objects.babies']:4.0f} babies {values['segments']:4.0f} segments",
            flush=True,
        )

    def _check_sent(self, progress: Progress, markers: Markers) -> None:
        print(
            f"{sum(progress.records.values()):,} records in {progress.exports} exports sent, "
            f"{progress.acknowledged_bytes / 1e6:.0f} MB acknowledged, {progress.resent} resent, "
            f"{len(progress.refused)} refused, at most {progress.late_secs:.1f} s late"
        )
        self.findings += [f"refused: {why}" for why in progress.refused[:3]]
        self.findings += [f"a marker was refused: {why}" for why in markers.failed[:3]]
        unanswered = progress.exports - progress.acknowledged - len(progress.refused)
        if unanswered:
            self.findings.append(f"{unanswered} exports were never answered")
        # A load that falls behind its schedule is not the load that was asked for.
        if progress.late_secs > LATE_SECS_MAX:
            self.findings.append(f"the load was {progress.late_secs:.0f} s behind its schedule")

    def _stop_all(self) -> None:
        """Stop all but meta: the data does not change any more."""
        stack = self.soak.stack
        for name in [name for name in (COLLECTOR, *WORKERS) if name in stack.children]:
            child = stack.detach(name)
            if child.restarts:
                self.findings.append(f"{name} died {child.restarts} times")
            child.stop()
            if not child.wait_stopped(time.monotonic() + STOP_SECS_MAX):
                self.findings.append(f"{name} did not stop in {STOP_SECS_MAX:.0f} s")
        if restarts := stack.children["meta"].restarts:
            self.findings.append(f"meta died {restarts} times")
        for event, count in count_warnings(stack.log_dir):
            print(f"  logged {count} times: {event}")

    def _check_growth(self) -> None:
        try:
            found = trends(self.samples, ALLOWANCES, GrowthAllowance(0.0, 0.0))
        except TooShort as error:
            self.findings.append(f"too short to judge growth: {error}")
            return
        print(f"{'figure':24} {'first half':>12} {'second half':>12} {'limit':>12}")
        for trend in found:
            print(_trend_line(trend))
        self.findings += [
            f"{t.name} grew from {t.first:,.0f} to {t.second:,.0f}" for t in found if t.is_growth
        ]

    def _check_records(self, progress: Progress) -> None:
        for found in read_back(self.client, progress.records):
            verdict = "each exactly once" if found.is_once_each else "BROKEN"
            print(f"{found.name:16} {found.sent:>12,} sent {found.records:>12,} found: {verdict}")
            if not found.is_once_each:
                self.findings.append(f"records are missing, doubled or unknown: {found}")
        report = catalog_check.check(self.client, is_deep=True, orphan_age_secs=0)
        self.findings += [f"fsck: {violation}" for violation in report.violations]


def main() -> int:
    """Run, save the results, say what was found."""
    rate = os.environ.get("SOAK_MB_PER_SEC", "")
    settings = Settings(float(os.environ.get("SOAK_MINUTES", "30")), float(rate) if rate else None)
    # As Ctrl-C, so that nothing is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measured, findings = _run(settings)
    except (SoakFailed, ChildFailed) as error:
        print(f"soak failed: {error}", file=sys.stderr)
        return 1
    results.save(measured)
    pictures.draw()
    print(results.table(measured))
    findings += [f"{r.name} is {r.ratio:g}, bar {r.bar:g}" for r in measured if not r.holds]
    for finding in findings:
        print(f"FOUND: {finding}")
    print("soak failed" if findings else "soak passed: nothing grew, every record is there once")
    return 1 if findings else 0


def _run(settings: Settings) -> tuple[list[results.Result], list[str]]:
    with soak_stack() as soak, soak.stack.connect() as client:
        probe = Probe(soak, client)
        try:
            run = Soak(soak, client, settings, probe)
            return run.run(), run.findings
        finally:
            probe.close()


def _amplification(written: WrittenBytes, minutes: float) -> results.Result:
    return results.compare(
        "soak_write_amplification",
        (written.nursery_bytes + written.merged_bytes) / 1e6,
        written.nursery_bytes / 1e6,
        reference_name="what the nursery wrote",
        unit=f"MB of segment objects that {minutes:g} min wrote",
        bar=AMPLIFICATION_MAX,
        higher_is_better=False,
    )


def _trend_line(trend: Trend) -> str:
    unit = MIB if trend.name.startswith("memory.") else 1
    figures = (trend.first / unit, trend.second / unit, trend.limit / unit)
    return (
        f"{trend.name:24} "
        + " ".join(f"{figure:12,.0f}" for figure in figures)
        + ("  GREW" if trend.is_growth else "")
    )


if __name__ == "__main__":
    sys.exit(main())
