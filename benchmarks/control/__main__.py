"""`python -m benchmarks.control`: publishing a file by us, DuckLake and PyIceberg, 16 callers each.

All use one Postgres with its default durability, every caller a table of its own, so that nobody
loses a race for a table. Ours go through gRPC, replies with streams omitted; the peers are
libraries and talk to Postgres themselves, each caller in a process of its own.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from benchmarks.harness import call_figures, registrations, results
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.register_merged_segment import SINGLE

PYTHON = Path("build/bench/control/bin/python")
CALLERS = 16
ROUNDS = 3
SECONDS = 6.0
CALLS = 400
BARS = {"iceberg": 50.0, "ducklake": 20.0}
NAMES = {"iceberg": "PyIceberg's SqlCatalog, add_files", "ducklake": "DuckLake, add_data_files"}


def run() -> list[Result]:
    """All in turn; medians."""
    rates: dict[str, list[float]] = {name: [] for name in ("ours", *BARS)}
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        assert postgres.pid is not None
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            for name in BARS:
                connection.execute(f"CREATE DATABASE {name}")
        _ours(server, postgres.pid)
        for _ in range(ROUNDS):
            rates["ours"].append(_ours(server, postgres.pid))
            for name in BARS:
                rates[name].append(_peer(name, postgres.url_of(name)))
    ours = statistics.median(rates["ours"])
    return [
        compare(
            f"publish_a_file_over_{name}",
            ours,
            statistics.median(rates[name]),
            reference_name=NAMES[name],
            unit=f"files/s of {CALLERS} callers, same Postgres",
            bar=bar,
        )
        for name, bar in BARS.items()
    ]


def _ours(server: BenchServer, postgres_pid: int) -> float:
    made = registrations.entries(server.database_url, CALLERS, CALLS)
    load = CallLoad(server.address, SINGLE, registrations.requests(made, range(CALLS)))
    figures, _ = call_figures.measure(server, postgres_pid, load)
    return figures.per_second


def _peer(name: str, url: str) -> float:
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as folder:
        with psycopg.connect(url, autocommit=True) as connection:
            # The files of the round before are gone.
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        command = [str(PYTHON), "benchmarks/control/peer.py", name, url, folder]
        done = subprocess.run(
            [*command, str(CALLERS), str(SECONDS)], stdout=subprocess.PIPE, check=True
        )
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"  {name}: {told}", flush=True)
    return float(told["files"]) / float(told["seconds"])


def main() -> int:
    """Measure, keep the results; exits with 1 if a bar does not hold."""
    measured = run()
    results.save(measured)
    print(results.table(measured))
    return 0 if all(result.holds for result in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
