"""Run of a canary: sends at an interval, reads while records are followed, ends on request."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

from segplane.cli.canary import metrics
from segplane.cli.canary.probes import (
    CanaryProbe,
    Patience,
    ProbeLedger,
    ProbeReport,
    ProbeResult,
    percentiles,
)
from segplane.cli.canary.readers import ProbeReader
from segplane.cli.canary.state_file import CanaryState, StateFile
from segplane.cli.delivery import DeliveryFailed, OtlpTarget, send

# Records whose acknowledgement is awaited at a time.
_IN_FLIGHT_MAX = 8
# Of each try of an export, so that the end of a run does not wait for long.
_REQUEST_SECS = 10.0
_TICK_SECS = 0.1
# Readings begin so long before the first record: its time is set after that of sending.
_SLACK_NANOS = 1_000_000_000
_FAILED = (
    *(ProbeResult.LATE, ProbeResult.LOST, ProbeResult.DOUBLED),
    *(ProbeResult.REFUSED, ProbeResult.UNREAD),
)


@dataclass(frozen=True, slots=True)
class CanaryPlan:
    """Interval, number of records (None = until it is stopped), and patience in seconds."""

    every_secs: float
    count: int | None
    patience: Patience


@dataclass(frozen=True, slots=True)
class CanarySummary:
    """Counts by result, and percentiles of each step in seconds.

    `followed` records were acknowledged and are not judged; `skipped` ones were due while too many
    others were not acknowledged.
    """

    measured: str
    sent: int
    results: dict[str, int]
    followed: int
    skipped: int
    read_failures: int
    percentiles: dict[str, dict[str, float]]

    @property
    def has_failed(self) -> bool:
        """Whether a record did not arrive once and in time."""
        return any(self.results.get(result, 0) for result in _FAILED)


class Canary:
    """One canary; `report` is called with each judged record."""

    def __init__(
        self,
        target: OtlpTarget,
        reader: ProbeReader,
        plan: CanaryPlan,
        report: Callable[[ProbeReport], None],
        state_file: StateFile | None = None,
    ) -> None:
        """Continue the run of the state file. Raises OSError if it cannot be read."""
        self._target, self._reader, self._plan = target, reader, plan
        self._report, self._state_file = report, state_file
        self._timeout_nanos = int(plan.patience.timeout_secs * 1e9)
        self._ledger = ProbeLedger(reader.step_names, plan.patience)
        state = (state_file and state_file.read()) or CanaryState(uuid4().hex, 0, (), 0)
        self._run, self._next_number = state.run, state.next_number
        self._ledger.resume(state.probes, state.read_at_nanos)
        self._sent = self._skipped = self._read_failures = 0
        self._sending: dict[Future[float], CanaryProbe] = {}
        self._reading: Future[None] | None = None
        self._read_at = self._next_send_at = 0.0
        # Results of readings; the thread that runs judges them.
        self._findings: list[tuple[str, list[int], int, tuple[int, ...]]] = []
        self._last_failure = self._last_write_failure = ""
        # Of the first reading that failed since one succeeded; 0 = the last one has succeeded.
        self._failing_since_nanos = 0

    def run(self, stopped: threading.Event) -> CanarySummary:
        """Run until all records are judged, or it is stopped."""
        with (
            ThreadPoolExecutor(_IN_FLIGHT_MAX, "canary-send") as senders,
            ThreadPoolExecutor(1, "canary-read") as reader,
        ):
            while not stopped.is_set() and not self._is_over():
                self._send_due(senders)
                self._take_acknowledgements()
                self._read_due(reader)
                stopped.wait(_TICK_SECS)
            if self._ledger.arrived and not stopped.is_set():
                self._note_end(self._look_again(reader, list(self._ledger.arrived), ()))
        self._take_acknowledgements()
        if self._reading is not None:
            self._note_end(self._reading)
        if self._failing_since_nanos:
            self._give_up(time.time_ns())
        return self._summary()

    def _is_over(self) -> bool:
        is_sent = self._plan.count is not None and self._sent >= self._plan.count
        return is_sent and not (self._sending or self._ledger.followed or self._reading)

    def _send_due(self, senders: ThreadPoolExecutor) -> None:
        now = time.monotonic()
        is_sent = self._plan.count is not None and self._sent >= self._plan.count
        if is_sent or now < self._next_send_at:
            return
        # The interval is kept, without a burst after a pause of this machine.
        self._next_send_at = max(self._next_send_at + self._plan.every_secs, now)
        if len(self._sending) >= _IN_FLIGHT_MAX:
            self._skipped += 1
            return
        probe = CanaryProbe(self._next_number, time.time_ns())
        self._next_number += 1
        self._sent += 1
        self._write_state()
        self._sending[senders.submit(self._send, probe.number)] = probe

    def _send(self, number: int) -> float:
        """Send a record; returns the seconds until its acknowledgement."""
        began = time.monotonic()
        send(self._target, self._run, range(number, number + 1), _REQUEST_SECS)
        return time.monotonic() - began

    def _take_acknowledgements(self) -> None:
        done = [future for future in self._sending if future.done()]
        for future in done:
            probe = self._sending.pop(future)
            try:
                seconds = future.result()
            except DeliveryFailed as error:
                self._emit([self._ledger.refuse(probe, str(error))])
                continue
            metrics.SECONDS.labels("acknowledged").observe(seconds)
            self._emit(self._ledger.acknowledge(probe, seconds))
        if done:
            self._write_state()

    def _read_due(self, reader: ThreadPoolExecutor) -> None:
        """Begin a reading unless one runs, and take what the last one has found."""
        if self._reading is not None:
            if not self._reading.done():
                return
            self._note_end(self._reading)
            self._reading = None
        now, now_nanos = time.monotonic(), time.time_ns()
        again = self._ledger.due_again(now_nanos)
        interval_secs = self._ledger.reading_interval_secs(now_nanos)
        if not (again or self._ledger.followed) or now < self._read_at + interval_secs:
            return
        self._read_at = now
        followed = self._ledger.followed.values()
        earlier = [
            step
            for step in self._reader.step_names[:-1]
            if any(step not in probe.steps for probe in followed)
        ]
        self._reading = self._look_again(reader, again, earlier)

    def _look_again(
        self, reader: ThreadPoolExecutor, again: Sequence[int], earlier: Sequence[str]
    ) -> Future[None]:
        """Begin a reading of the last step and of earlier ones, of arrived records as well."""
        probes = [*self._ledger.followed.values(), *(self._ledger.arrived[n] for n in again)]
        start_nanos = min(probe.sent_at_nanos for probe in probes) - _SLACK_NANOS
        steps = (*earlier, self._reader.step_names[-1])
        return reader.submit(self._read, steps, start_nanos, tuple(again))

    def _read(self, steps: Sequence[str], start_nanos: int, again: tuple[int, ...]) -> None:
        for step in steps:
            began_at_nanos = time.time_ns()
            numbers = self._reader.numbers(step, self._run, start_nanos)
            asked = again if step == steps[-1] else ()
            self._findings.append((step, numbers, began_at_nanos, asked))

    def _take_findings(self) -> None:
        findings, self._findings = self._findings, []
        for step, numbers, began_at_nanos, asked in findings:
            self._emit(self._ledger.look_again(numbers, asked))
            self._emit(self._ledger.see(step, numbers, began_at_nanos))
        if findings:
            self._write_state()

    def _note_end(self, reading: Future[None]) -> None:
        """Take the findings of a reading; count one that failed, and say so once."""
        error = reading.exception()
        failure = "" if error is None else f"{type(error).__name__}: {error}"
        if failure:
            self._read_failures += 1
            metrics.READ_FAILURES.inc()
            if failure != self._last_failure:
                print(f"cannot read: {' '.join(failure.split())[:500]}", file=sys.stderr)
        self._last_failure = failure
        self._take_findings()
        now_nanos = time.time_ns()
        self._failing_since_nanos = (self._failing_since_nanos or now_nanos) if failure else 0
        # A failure that is short does not hide that a record is late or lost.
        if failure and now_nanos - self._failing_since_nanos > self._timeout_nanos:
            self._give_up(now_nanos)

    def _give_up(self, now_nanos: int) -> None:
        seconds = (now_nanos - self._failing_since_nanos) / 1e9
        why = f"the dataset could not be read for {seconds:.0f} s"
        self._emit(self._ledger.give_up(now_nanos, why))
        self._write_state()

    def _emit(self, reports: Iterable[ProbeReport]) -> None:
        for report in reports:
            metrics.RECORDS.labels(report.result).inc()
            if report.result in (ProbeResult.ARRIVED, ProbeResult.LATE):
                metrics.ARRIVED_AT.set_to_current_time()
                for step in self._reader.step_names:
                    # A record of an earlier process has no latencies.
                    if step in report.steps:
                        metrics.SECONDS.labels(step).observe(report.steps[step])
            self._report(report)

    def _write_state(self) -> None:
        """Write the state; a failure is said once, and the next change is written again."""
        if self._state_file is None:
            return
        followed = tuple(self._ledger.followed.values())
        state = CanaryState(self._run, self._next_number, followed, self._ledger.read_at_nanos)
        failure = ""
        try:
            self._state_file.write(state)
        except OSError as error:
            failure = error.strerror or str(error)
            if failure != self._last_write_failure:
                print(f"cannot write {self._state_file.path}: {failure}", file=sys.stderr)
        self._last_write_failure = failure

    def _summary(self) -> CanarySummary:
        ledger = self._ledger
        return CanarySummary(
            self._reader.measured,
            self._sent,
            {result.value: ledger.counts[result] for result in ProbeResult},
            len(ledger.followed),
            self._skipped,
            self._read_failures,
            {step: percentiles(latencies) for step, latencies in ledger.latencies.items()},
        )
