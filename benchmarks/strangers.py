"""Calls of a principal beside callers without a credential: their 99th percentile, and memory.

`python -m benchmarks strangers` measures each attack on one server, in rounds that take turns.
`python -m benchmarks.strangers ADDRESS headers` holds one attack on a server that you name, until
it is interrupted, and prints what becomes of its calls.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.harness import call_load
from benchmarks.harness.call_load import CallLoad, CallSecurity
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.harness.strangers import ATTACKS, attacking

P99_RATIO_MAX = 2.0
MEMORY_MB_MAX, KEPT_MB_MAX = 300.0, 50.0
ROUNDS, SECS, CALLERS = 3, 3.0, 4
NICENESS, START_SECS, END_SECS, PRINT_SECS = 19, 3.0, 2.0, 1.0
STATE = "/meta.v1.OperationsService/GetServerState"
TOKEN = "the admin token of this benchmark"


def run() -> list[Result]:
    """Measure each attack in turn."""
    settings = {"META_AUTH_TOKEN": TOKEN, "META_REQUIRE_AUTHENTICATION": "true"}
    with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
        return [result for name in ATTACKS for result in _measure(server, name)]


def _measure(server: BenchServer, name: str) -> list[Result]:
    good = CallLoad(
        server.address,
        STATE,
        [[b""]] * CALLERS,
        SECS,
        security=CallSecurity(auth_tokens=[TOKEN]),
    )
    before_mb = _memory_mb(server)
    alone, beside, peaks_mb = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        alone.append(call_load.run(good).p99_ms)
        with PeakMemory(server.pid) as memory, _under_attack(server, name):
            beside.append(call_load.run(good).p99_ms)
        peaks_mb.append(memory.peak_bytes / 1e6)
        time.sleep(END_SECS)
    kept_mb = _memory_mb(server) - before_mb
    return [
        compare(
            f"strangers_{name}_p99",
            statistics.median(beside),
            statistics.median(alone),
            reference_name="the same callers alone",
            unit=f"ms, p99 of GetServerState beside {ATTACKS[name].calls} calls of strangers",
            bar=P99_RATIO_MAX,
            higher_is_better=False,
        ),
        compare(
            f"strangers_{name}_memory",
            max(peaks_mb) - before_mb,
            MEMORY_MB_MAX,
            reference_name="the stated bound",
            unit=f"MB of meta beyond {before_mb:.0f}; {kept_mb:.0f} were left {END_SECS:g} s later",
            bar=1.0,
            higher_is_better=False,
        ),
        compare(
            f"strangers_{name}_kept",
            max(kept_mb, 0.0),
            KEPT_MB_MAX,
            reference_name="the stated bound",
            unit="MB of meta that stay after the attack",
            bar=1.0,
            higher_is_better=False,
        ),
    ]


def _memory_mb(server: BenchServer) -> float:
    with PeakMemory(server.pid) as memory:
        time.sleep(0.3)
    return memory.peak_bytes / 1e6


@contextmanager
def _under_attack(server: BenchServer, name: str) -> Iterator[None]:
    """Attack from another process, which gives way as if it had its own machine."""
    command = [sys.executable, "-m", "benchmarks.strangers", server.address, name]
    with subprocess.Popen(["nice", f"-{NICENESS}", *command], stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(START_SECS)
            assert process.poll() is None, "the attack has ended"
            yield
        finally:
            process.kill()


def main() -> None:
    """Hold one attack until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("address", help="host:port of a server in plain text, of this machine")
    parser.add_argument("attack", choices=sorted(ATTACKS))
    arguments = parser.parse_args()
    port = int(arguments.address.rpartition(":")[2])
    with attacking(port, ATTACKS[arguments.attack]) as progress:
        while True:
            print(f"{progress.open} open, {progress.ended} ended {progress.statuses}", flush=True)
            time.sleep(PRINT_SECS)


if __name__ == "__main__":
    main()
