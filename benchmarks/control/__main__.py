"""`python -m benchmarks.control`: publishing files by us, DuckLake and PyIceberg, 16 callers each.

All use one Postgres with its default durability, every caller its own tables, so that nobody
loses a race for a table. Ours go through gRPC, replies with streams omitted; the peers are
libraries and talk to Postgres themselves, each caller in its own process.

Each publishes a file a call, and in bulk: ours many datasets in a call, as nurseries do, DuckLake
many ducklake_add_data_files in a transaction, PyIceberg one add_files with many files. Our bulk is
compared with both forms of a peer.
"""

import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.control.peers import NAMES, measure_peer
from benchmarks.harness import call_figures, registrations, results
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.register_merged_segment import BULK as BULK_METHOD
from benchmarks.register_merged_segment import SINGLE, bulk_request
from segplane.stack.postgres import EmbeddedPostgres

CALLERS = 16
ROUNDS = 3
SECONDS = 6.0
CALLS = 400
# Files of a bulk call or transaction, and calls of each caller.
BULK, BULK_CALLS = 100, 8
BARS = {"iceberg": 50.0, "ducklake": 20.0}


@dataclass(frozen=True, slots=True)
class _Scene:
    """Our server, and the databases of the peers in the same Postgres."""

    server: BenchServer
    postgres: EmbeddedPostgres

    def measure(self, name: str, files: int) -> float:
        """Files published a second, so many in a call."""
        if name != "ours":
            return measure_peer(self.postgres, name, CALLERS, SECONDS, files)
        return self._bulk() if files > 1 else self._single()

    def _single(self) -> float:
        made = registrations.entries(self.server.database_url, CALLERS, CALLS)
        requests = registrations.requests(made, range(CALLS))
        return self._run(CallLoad(self.server.address, SINGLE, requests), 1)

    def _bulk(self) -> float:
        requests = []
        for _ in range(CALLERS):
            made = registrations.entries(self.server.database_url, BULK, BULK_CALLS)
            requests.append([bulk_request(made, offset) for offset in range(BULK_CALLS)])
        return self._run(CallLoad(self.server.address, BULK_METHOD, requests), BULK)

    def _run(self, load: CallLoad, files: int) -> float:
        assert self.postgres.pid is not None
        figures, _ = call_figures.measure(self.server, self.postgres.pid, load, files)
        print(f"  ours, {files} in a call: {figures}", flush=True)
        return figures.per_second


def run() -> list[Result]:
    """All in turn; medians."""
    kinds = [(name, files) for name in ("ours", *BARS) for files in (1, BULK)]
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        scene = _Scene(server, postgres)
        scene.measure("ours", 1)
        rounds = [{kind: scene.measure(*kind) for kind in kinds} for _ in range(ROUNDS)]
    medians = {kind: statistics.median(one[kind] for one in rounds) for kind in kinds}
    return [result for name in BARS for result in _compared(name, medians)]


def _compared(name: str, rates: Mapping[tuple[str, int], float]) -> Iterator[Result]:
    """One file a call, our bulk calls beside the peer's single form, and beside its bulk form."""
    many = f"{BULK} files a call"
    forms = {
        f"publish_a_file_over_{name}": (1, 1, "a file a call on both sides"),
        f"publish_in_bulk_over_{name}": (BULK, 1, f"{many}, the peer one"),
        f"publish_in_bulk_over_{name}_in_bulk": (BULK, BULK, f"{many} on both sides"),
    }
    for result, (ours, theirs, what) in forms.items():
        yield compare(
            result,
            rates["ours", ours],
            rates[name, theirs],
            reference_name=NAMES[name],
            unit=f"files/s of {CALLERS} callers, same Postgres, {what}",
            bar=BARS[name] if theirs == 1 else 0.0,
        )


def main() -> int:
    """Measure, keep the results; exits with 1 if a bar does not hold."""
    measured = run()
    results.save(measured)
    print(results.table(measured))
    return 0 if all(result.holds for result in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
