"""One collector process, durable end to end, against gRPC servers that parse and drop.

Each contender counts at the number of exports in flight that suits it best, since the question is
what it can take. Ours answers after a durable put and a commit, which the others do not do, so it
needs more in flight to have work at all times; the server with threads takes less with more.
Where first touches of memory are dear, as on many virtual machines, filling the page cache costs as
much again as everything else does. So the bars are against a server that keeps the bytes as well,
one plain file an export, and the servers that drop are reported beside it.

CPU a GB is the user and system time of a server's processes over a whole load. By it, two processes
that share the port are compared with one: on cores of their own they take as much more as they
spend less than twice the CPU.
"""

import shutil
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from benchmarks.harness import otlp_load
from benchmarks.harness.collectors import running_collector
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from benchmarks.peers.otlp_drop import dropping_server
from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest

EXPORT_BYTES = 512 * 1024
IN_FLIGHT = (64, 128)
SECONDS = 4.0
ROUNDS = 3
PROCESSES = 2
# Enough that the kernel gives every process some.
CONNECTIONS = 16
_REFERENCES = {
    "threads": "gRPC server (threads) that parses and drops",
    "asyncio": "gRPC server (asyncio) that parses and drops",
    "keeping": "gRPC server (asyncio) that parses and writes plain files",
}


@dataclass(frozen=True, slots=True)
class Contender:
    """A server, its process and what it took, by the number of exports in flight."""

    target: str
    pid: int
    token: str = ""
    connections: int = 1
    rates: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu_secs_a_gb: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def load(self, in_flight: int) -> None:
        """Send one round."""
        cpu_secs = cpu_seconds(self.pid)
        accepted = otlp_load.run(
            otlp_load.OtlpLoad(
                self.target, self.token, EXPORT_BYTES, in_flight, SECONDS, self.connections
            )
        )
        assert accepted.refused == 0, f"{self.target} refused {accepted.refused} exports"
        self.rates[in_flight].append(accepted.megabytes_per_second)
        spent_secs = cpu_seconds(self.pid) - cpu_secs
        self.cpu_secs_a_gb[in_flight].append(spent_secs / (accepted.total_bytes / 1e9))

    def rate(self) -> float:
        """MB/s at the best number in flight."""
        return max(map(statistics.median, self.rates.values()))

    def cpu(self) -> float:
        """CPU seconds a GB at the best number in flight."""
        return min(map(statistics.median, self.cpu_secs_a_gb.values()))


def run() -> list[Result]:
    """Three rounds of each in turn; medians."""
    with ExitStack() as stack:
        contenders = {
            **stack.enter_context(_collectors()),
            "threads": Contender(*stack.enter_context(dropping_server("threads"))),
            "asyncio": Contender(*stack.enter_context(dropping_server("asyncio"))),
            "keeping": Contender(*stack.enter_context(dropping_server("keeping"))),
        }
        # The first round takes memory from the system that later ones use again.
        for contender, in_flight in product(contenders.values(), IN_FLIGHT):
            contender.load(in_flight)
            contender.rates.clear()
            contender.cpu_secs_a_gb.clear()
        for contender, in_flight in [*product(contenders.values(), IN_FLIGHT)] * ROUNDS:
            contender.load(in_flight)
    for name, contender in contenders.items():
        print(f"  {name:10} {contender.rate():6.1f} MB/s {contender.cpu():6.3f} s of CPU a GB")
    return _rates(contenders) + _cpu(contenders)


def _rates(contenders: dict[str, Contender]) -> list[Result]:
    return [
        compare(
            f"collector_accepted_against_{name}",
            contenders["one"].rate(),
            contenders[name].rate(),
            reference_name=_REFERENCES[name],
            unit="MB/s of 512 KiB exports",
            bar=bar,
        )
        for name, bar in (("threads", 0.0), ("asyncio", 0.0), ("keeping", 0.72))
    ]


def _cpu(contenders: dict[str, Contender]) -> list[Result]:
    one, several = contenders["one"].cpu(), contenders["several"].cpu()
    return [
        *(
            compare(
                f"collector_cpu_against_{name}",
                one,
                contenders[name].cpu(),
                reference_name=_REFERENCES[name],
                unit="s of CPU a GB",
                bar=bar,
                higher_is_better=False,
            )
            for name, bar in (("asyncio", 0.0), ("keeping", 1.2))
        ),
        compare(
            f"collector_{PROCESSES}_processes_by_cpu",
            PROCESSES / several,
            1 / one,
            reference_name="one process",
            unit="GB/s on their own cores, by the CPU a GB",
            bar=1.6,
        ),
    ]


@contextmanager
def _collectors() -> Iterator[dict[str, Contender]]:
    """Run one process, and several that share a port, over a real meta and a folder."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    settings = {"META_OBJECT_STORE_URL": (folder / "objects").as_uri()}
    try:
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            with server.client() as client:
                token = _token(client)
            with (
                running_collector(server.address, COLLECTOR_PROCESSES="1") as one,
                running_collector(server.address, COLLECTOR_PROCESSES=str(PROCESSES)) as several,
            ):
                yield {
                    "one": Contender(one.grpc_address, one.pid, token),
                    "several": Contender(several.grpc_address, several.pid, token, CONNECTIONS),
                }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _token(client: MetaClient) -> str:
    client.catalog.CreateDataset(CreateDatasetRequest(name="bench"))
    request = CreateIngestTokenRequest(name="bench", dataset_name="bench")
    return client.ingest_token.CreateIngestToken(request).plaintext_token
