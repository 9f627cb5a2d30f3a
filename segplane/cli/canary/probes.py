"""Records that a canary has sent, and the judgement of what readers see of them."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

# Records that are followed at a time; the oldest one beyond it is given up.
FOLLOWED_MAX = 1_000
# Seconds between readings: a tenth of a record's age, within these bounds.
_INTERVAL_SECS_MIN, _INTERVAL_SECS_MAX = 1.0, 5.0
# Longest retention of a canary's dataset.
RETENTION_SECS = 86_400
# Latencies of each step that percentiles are of.
LATENCIES_MAX = 10_000


class ProbeResult(StrEnum):
    """Judgement of one record."""

    ARRIVED = "arrived"
    LATE = "late"
    LOST = "lost"
    DOUBLED = "doubled"
    REFUSED = "refused"
    UNREAD = "unread"


@dataclass(slots=True)
class CanaryProbe:
    """A record by its number; steps that it has taken, in seconds after it was sent."""

    number: int
    sent_at_nanos: int
    steps: dict[str, float] = field(default_factory=dict)
    copies: int = 0
    # True = of the file of an earlier process: the time of its arrival may be unknown.
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """A judged record."""

    number: int
    sent_at_nanos: int
    result: ProbeResult
    steps: Mapping[str, float]
    copies: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds after which a record is late, and after which it is lost."""

    late_secs: float
    timeout_secs: float


class ProbeLedger:
    """Records that were acknowledged and are not judged, and counts of the others.

    A record has arrived once the last step shows it once. It is kept beyond `timeout_secs` after it
    was sent and looked at once more, so that a later copy or loss is noticed.
    """

    def __init__(self, step_names: Sequence[str], patience: Patience) -> None:
        self.step_names = tuple(step_names)
        self.patience = patience
        self.counts: Counter[ProbeResult] = Counter()
        self.latencies: dict[str, deque[float]] = {}
        self.followed: dict[int, CanaryProbe] = {}
        # Those that have arrived and were not looked at again.
        self.arrived: dict[int, CanaryProbe] = {}
        # Start of the last complete reading of the last step, by an earlier process as well.
        self.read_at_nanos = 0

    def resume(self, probes: Iterable[CanaryProbe], read_at_nanos: int) -> None:
        """Follow the records of an earlier process, which read until a time."""
        self.followed = {probe.number: replace(probe, is_resumed=True) for probe in probes}
        self.read_at_nanos = read_at_nanos

    def acknowledge(self, probe: CanaryProbe, seconds: float) -> Iterator[ProbeReport]:
        """Follow a record; yields one that is given up for it."""
        self._step(probe, "acknowledged", seconds)
        self.followed[probe.number] = probe
        while len(self.followed) + len(self.arrived) > FOLLOWED_MAX:
            if self.arrived:
                del self.arrived[min(self.arrived)]
                continue
            oldest = self.followed.pop(min(self.followed))
            why = f"{FOLLOWED_MAX:,} newer records are followed"
            yield self._judged(oldest, ProbeResult.UNREAD, why)

    def refuse(self, probe: CanaryProbe, why: str) -> ProbeReport:
        """Judge a record that no collector acknowledged; it is not followed."""
        return self._judged(probe, ProbeResult.REFUSED, why)

    def see(self, step: str, numbers: Iterable[int], now_nanos: int) -> Iterator[ProbeReport]:
        """Judge by a complete reading of a step, which began at `now_nanos`."""
        copies = Counter(numbers)
        is_last = step == self.step_names[-1]
        for probe in list(self.followed.values()):
            seconds = (now_nanos - probe.sent_at_nanos) / 1e9
            probe.copies = max(probe.copies, copies[probe.number])
            if copies[probe.number]:
                # Of a record that came further between two readings, the steps before as well.
                for name in self.step_names[: self.step_names.index(step) + 1]:
                    self._step(probe, name, seconds)
            if copies[probe.number] > 1:
                yield self._settled(probe, ProbeResult.DOUBLED)
            elif is_last and copies[probe.number]:
                is_late = self._is_late(probe, now_nanos)
                yield self._settled(probe, ProbeResult.LATE if is_late else ProbeResult.ARRIVED)
            elif is_last and seconds > RETENTION_SECS:
                why = "it is older than a day, and may have expired"
                yield self._settled(probe, ProbeResult.UNREAD, why)
            elif is_last and seconds > self.patience.timeout_secs:
                yield self._settled(probe, ProbeResult.LOST, self._missing(probe))
        if is_last:
            self.read_at_nanos = now_nanos

    def reading_interval_secs(self, now_nanos: int) -> float:
        """Return the seconds from one reading to the next, by the youngest record's age."""
        youngest = max((probe.sent_at_nanos for probe in self.followed.values()), default=now_nanos)
        secs = (now_nanos - youngest) / 1e10
        return min(_INTERVAL_SECS_MAX, max(_INTERVAL_SECS_MIN, secs))

    def due_again(self, now_nanos: int) -> list[int]:
        """Return the arrived records that are to be looked at again now.

        Each reading is of all segments since the oldest of them: they are looked at together, once
        the oldest one is older than the timeout and a half.
        """
        ages = {n: (now_nanos - probe.sent_at_nanos) / 1e9 for n, probe in self.arrived.items()}
        if max(ages.values(), default=0.0) <= 1.5 * self.patience.timeout_secs:
            return []
        return [number for number, secs in ages.items() if secs > self.patience.timeout_secs]

    def look_again(self, numbers: Iterable[int], asked: Iterable[int]) -> Iterator[ProbeReport]:
        """Judge arrived records by a reading of the last step that began after they were asked."""
        copies = Counter(numbers)
        for number in asked:
            probe = self.arrived.pop(number, None)
            if probe is None or copies[number] == 1:
                continue
            probe.copies = copies[number]
            result = ProbeResult.DOUBLED if copies[number] else ProbeResult.LOST
            yield self._judged(probe, result, "it had arrived once before")

    def give_up(self, now_nanos: int, why: str) -> Iterator[ProbeReport]:
        """Judge the records that no reading could judge within the timeout."""
        for probe in list(self.followed.values()):
            if now_nanos - probe.sent_at_nanos > self.patience.timeout_secs * 1e9:
                yield self._settled(probe, ProbeResult.UNREAD, why)

    def _is_late(self, probe: CanaryProbe, now_nanos: int) -> bool:
        late_nanos = self.patience.late_secs * 1e9
        # Nobody read while the canary was down: the record may have arrived in time.
        is_unknown = probe.is_resumed and now_nanos - self.read_at_nanos > late_nanos
        return now_nanos - probe.sent_at_nanos > late_nanos and not is_unknown

    def _missing(self, probe: CanaryProbe) -> str:
        step = list(probe.steps)[-1]
        secs = self.patience.timeout_secs
        return f"{step}, and not {self.step_names[-1]} within {secs:g} s"

    def _step(self, probe: CanaryProbe, step: str, seconds: float) -> None:
        if step in probe.steps:
            return
        probe.steps[step] = round(seconds, 3)
        if not probe.is_resumed:
            self.latencies.setdefault(step, deque(maxlen=LATENCIES_MAX)).append(seconds)

    def _settled(self, probe: CanaryProbe, result: ProbeResult, detail: str = "") -> ProbeReport:
        del self.followed[probe.number]
        if result in (ProbeResult.ARRIVED, ProbeResult.LATE):
            self.arrived[probe.number] = probe
        return self._judged(probe, result, detail)

    def _judged(self, probe: CanaryProbe, result: ProbeResult, detail: str = "") -> ProbeReport:
        self.counts[result] += 1
        # When a resumed record took a step is not known, only that it has.
        steps = {
            step: seconds
            for step, seconds in probe.steps.items()
            if step not in self.step_names or not probe.is_resumed
        }
        return ProbeReport(probe.number, probe.sent_at_nanos, result, steps, probe.copies, detail)


def percentiles(latencies: Iterable[float]) -> dict[str, float]:
    """Return percentiles of latencies in seconds; none of no latencies."""
    ordered = sorted(latencies)
    if not ordered:
        return {}
    ranks = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    return {
        name: round(ordered[min(len(ordered) - 1, int(rank * len(ordered)))], 3)
        for name, rank in ranks.items()
    }
