"""`make bench-masters`: what Spark costs on one machine, beside processes of our own, in turns.

Each of COST_TURNS (2) turns runs the whole of `segplane dev` with `local[*]` and with `processes`:
its start and first merge (a cold JVM), a warm-up, COST_IDLE_MINUTES (2) without exports, COST_MB
(300) of exports as fast as they are taken, COST_SLOW_MB (100) at 2 MB/s, and these again with a
marker each second. The OpenTelemetry Collector, if it is built, writes the exports to a file.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cost.load import write_corpus
from benchmarks.cost.otelcol import PROGRAM, collector_cpu_secs
from benchmarks.cost.stack import WARM_UP, CostStack, cost_stack, freshness, idle, measure
from benchmarks.harness import results
from benchmarks.harness.memory import resident_bytes
from benchmarks.harness.results import Result, compare

SPARK, PROCESSES = "local[*]", "processes"
SPAN_NANOS = 600 * 10**9
SENDERS, SLOW_SENDERS, SLOW_MB_PER_SEC = 32, 4, 2.0
WARM_UP_MB, COLD_MB = 50.0, 1.0
SATURATED_BAR, SLOW_BAR, IDLE_BAR_CORES, FRESHNESS_BAR_SECS = 1.25, 1.4, 0.01, 1.0


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of the stack: CPU seconds, cores, seconds and bytes."""

    start: float
    saturated: float
    slow: float
    idle: float
    freshness_p99: float
    memory_mb: float


def main() -> int:
    """Run the turns, print them, keep the ratios."""
    sizes = {
        "cold": COLD_MB,
        "warm": WARM_UP_MB,
        "measured": float(os.environ.get("COST_MB", "300")),
        "slow": float(os.environ.get("COST_SLOW_MB", "100")),
    }
    idle_secs = 60 * float(os.environ.get("COST_IDLE_MINUTES", "2"))
    turns: dict[str, list[Turn]] = {SPARK: [], PROCESSES: []}
    with tempfile.TemporaryDirectory(prefix="segplane-masters-") as name:
        folder = Path(name)
        for part, size in sizes.items():
            (folder / part).mkdir()
            write_corpus(folder / part, size, time.time_ns() - SPAN_NANOS, SPAN_NANOS)
        for number in range(int(os.environ.get("COST_TURNS", "2"))):
            for master in sorted(turns, reverse=number % 2 == 1):
                turns[master].append(_turn(folder, master, idle_secs))
                print(f"{master}: {turns[master][-1]}", flush=True)
        measured = list(_judged(turns))
        if PROGRAM.exists():
            exports = folder / "measured" / "exports.bin"
            measured.append(_beside_collector(turns[SPARK], collector_cpu_secs(folder, exports)))
        else:
            print("no OpenTelemetry Collector (`make senders`): it is not measured")
    results.save(measured)
    print(results.table(measured))
    return 0 if all(result.holds for result in measured) else 1


def _turn(folder: Path, master: str, idle_secs: float) -> Turn:
    with cost_stack(master=master) as stack:
        _merge(stack, folder / "cold")
        start = sum(stack.clocks.read().values())
        _merge(stack, folder / "warm")
        idle_cores = sum(idle(stack, idle_secs).values())
        saturated = measure(stack, folder / "measured" / "exports.bin", SENDERS).per_gigabyte()
        memory = sum(map(resident_bytes, stack.clocks.roots.values()))
    exports = folder / "slow" / "exports.bin"
    with cost_stack(master=master) as stack:
        _merge(stack, folder / "warm")
        slow = measure(stack, exports, SLOW_SENDERS, SLOW_MB_PER_SEC).per_gigabyte()
        _, fresh = freshness(stack, exports, SLOW_SENDERS, SLOW_MB_PER_SEC)
    print(
        f"{master}, s of CPU a GB: saturated {_parts(saturated)}; slow {_parts(slow)}", flush=True
    )
    return Turn(start, saturated["all"], slow["all"], idle_cores, fresh.p99_secs, memory / 1e6)


def _parts(secs: dict[str, float]) -> str:
    return ", ".join(f"{part} {value:.1f}" for part, value in secs.items())


def _merge(stack: CostStack, corpus: Path) -> None:
    """Send records of another dataset, and wait until they are merged."""
    stack.send(corpus / "exports.bin", SENDERS, dataset=WARM_UP)
    stack.await_done()


def _judged(turns: dict[str, list[Turn]]) -> list[Result]:
    def middle(value: Callable[[Turn], float]) -> tuple[float, float]:
        spark, processes = (statistics.median(map(value, turns[m])) for m in (SPARK, PROCESSES))
        return spark, processes

    def judged(
        name: str, value: Callable[[Turn], float], unit: str, bar: float, more: float = 0.0
    ) -> Result:
        spark, processes = middle(value)
        return compare(
            f"masters_{name}",
            spark,
            processes + more,
            reference_name=f"{PROCESSES} and {more:g}" if more else PROCESSES,
            unit=unit,
            bar=bar,
            higher_is_better=False,
        )

    return [
        judged("saturated", lambda turn: turn.saturated, "s of CPU a GB", SATURATED_BAR),
        judged("slow", lambda turn: turn.slow, "s of CPU a GB at 2 MB/s", SLOW_BAR),
        judged("idle", lambda turn: turn.idle, "cores", 1.0, IDLE_BAR_CORES),
        judged("freshness", lambda turn: turn.freshness_p99, "s, p99", 1.0, FRESHNESS_BAR_SECS),
        judged("start", lambda turn: turn.start, "s of CPU until a first small merge", 0.0),
        judged("memory", lambda turn: turn.memory_mb, "MB resident, shared pages in each", 0.0),
    ]


def _beside_collector(turns: list[Turn], secs_a_gigabyte: float) -> Result:
    return compare(
        "masters_opentelemetry_collector",
        statistics.median(turn.saturated for turn in turns),
        secs_a_gigabyte,
        reference_name="OpenTelemetry Collector: OTLP, batches, a file",
        unit="s of CPU a GB",
        higher_is_better=False,
    )


if __name__ == "__main__":
    sys.exit(main())
