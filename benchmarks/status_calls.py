"""CommitOffset and exports of today beside those of the commit before the status of processes.

Four installations of meta and a collector get the same calls in turn: that commit's and today's,
both without tracing and with it, where 1 % of the exports are of a trace that their sender records.
The commit before has the same settings of tracing. A round of two of them is a pair, and gives a
ratio of CPU a call. All start many times, because two processes of one program differ by up to 6 %
as long as they live.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import psycopg

from benchmarks import commit_offset, status_metrics
from benchmarks.harness import call_load, cpu_pairs, otlp_load, registrations
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.collectors import RunningCollector, running_collector
from benchmarks.harness.former import ROOT, former_tree
from benchmarks.harness.otlp_load import OtlpLoad
from benchmarks.harness.processes import exact_cpu_seconds
from benchmarks.harness.registrations import Entry
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.status_idle import COMMIT_BEFORE
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segplane.stack.postgres import EmbeddedPostgres

STARTS, PAIRS_OF_START = 34, 3
CALLERS, COMMITS, BACKLOG = 64, 30, 100
EXPORT_BYTES, IN_FLIGHT, EXPORT_SECS = 8 * 1024, 256, 0.6
SAMPLED_EVERY = 100
# Of the median, and of the upper end of its interval.
BARS: Mapping[str, tuple[float, float]] = {"today": (1.02, 1.05), "sampled": (1.05, 1.08)}
REFERENCES: Mapping[str, str] = {"today": "before", "sampled": "before_sampled"}
# Counting may take so much of a call.
SHARE_BAR = 0.02
Pairs = dict[str, list[tuple[float, float]]]


@dataclass(slots=True)
class _Contender:
    """An installation; its calls are measured by the CPU of one of its processes."""

    server: BenchServer
    collector: RunningCollector
    token: str
    sampled_every: int
    entries: Sequence[Entry]
    # The last offset of each entry's stream.
    offset: int = BACKLOG - 1

    def commit_ms(self) -> float:
        """Milliseconds of meta's CPU a CommitOffset, in one round."""
        offsets = range(self.offset + 1, self.offset + 1 + COMMITS)
        self.offset += COMMITS
        requests = [
            [commit_offset.request(entry, offset) for offset in offsets] for entry in self.entries
        ]
        before = exact_cpu_seconds(self.server.pid)
        rates = call_load.run(CallLoad(self.server.address, commit_offset.COMMIT, requests))
        return 1e3 * (exact_cpu_seconds(self.server.pid) - before) / rates.calls

    def export_ms(self) -> float:
        """Milliseconds of the collector's CPU an export, in one round."""
        load = OtlpLoad(
            self.collector.grpc_address,
            self.token,
            EXPORT_BYTES,
            IN_FLIGHT,
            EXPORT_SECS,
            sampled_every=self.sampled_every,
            warm_up_secs=0.0,
        )
        before = exact_cpu_seconds(self.collector.pid)
        accepted = otlp_load.run(load)
        assert accepted.refused == 0, f"{accepted.refused} exports were refused"
        return 1e3 * (exact_cpu_seconds(self.collector.pid) - before) / accepted.total_exports


def run() -> list[Result]:
    """All three in turn, call by call."""
    tree = former_tree(COMMIT_BEFORE)
    if tree is None:
        print(f"  the history here has no commit {COMMIT_BEFORE}", flush=True)
        return []
    pairs: Pairs = {}
    with ExitStack() as stack:
        postgres = stack.enter_context(bench_postgres())
        endpoint = stack.enter_context(_trace_receiver())
        environments = {
            "before": {"PYTHONPATH": str(tree)},
            "today": {"PYTHONPATH": str(ROOT)},
            "before_sampled": {"PYTHONPATH": str(tree), **_tracing(endpoint)},
            "sampled": {"PYTHONPATH": str(ROOT), **_tracing(endpoint)},
        }
        for name in environments:
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
        for number in range(STARTS):
            with ExitStack() as started:
                contenders = {
                    name: started.enter_context(_contender(postgres, name, environment))
                    for name, environment in environments.items()
                }
                _add_rounds(contenders, pairs)
            print(f"  start {number + 1} of {STARTS}", flush=True)
    return list(_results({name: cpu_pairs.enclosed(each) for name, each in pairs.items()}))


def _add_rounds(contenders: Mapping[str, _Contender], pairs: Pairs) -> None:
    """Measure each in turn, in another order each time, and add the pairs."""
    names = list(contenders)
    # The first round of each is not counted: connections, plans, caches.
    for number in range(PAIRS_OF_START + 1):
        order = names[number % len(names) :] + names[: number % len(names)]
        rounds = {
            "commit_offset": {name: contenders[name].commit_ms() for name in order},
            "export": {name: contenders[name].export_ms() for name in order},
        }
        for call, spent_ms in rounds.items() if number else ():
            for name in BARS:
                pair = spent_ms[name], spent_ms[REFERENCES[name]]
                pairs.setdefault(f"{name}_{call}", []).append(pair)


def _results(ratios: Mapping[str, cpu_pairs.Ratios]) -> Iterator[Result]:
    for name, each in ratios.items():
        median_bar, upper_bar = BARS[name.partition("_")[0]]
        for figure, ours, bar in (
            ("median", each.median, median_bar),
            ("upper", each.upper, upper_bar),
        ):
            yield compare(
                f"status_calls_{name}_{figure}",
                ours,
                1.0,
                reference_name=f"the commit before, set alike, {each.theirs_ms:.4g} ms of CPU",
                unit=f"ratio, 95 % interval {each.interval}, {STARTS * PAIRS_OF_START} pairs,"
                f" {each.ours_ms:.4g} ms of CPU a call",
                bar=bar,
                higher_is_better=False,
            )
    calls = ("commit_offset", "export")
    for call, counting_us in zip(calls, status_metrics.metrics_us(), strict=True):
        yield compare(
            f"status_metrics_share_of_{call}",
            counting_us,
            1e3 * ratios[f"today_{call}"].ours_ms,
            reference_name="the CPU of the whole call",
            unit="us of CPU",
            bar=SHARE_BAR,
            higher_is_better=False,
        )


@contextmanager
def _contender(
    postgres: EmbeddedPostgres, name: str, environment: Mapping[str, str]
) -> Iterator[_Contender]:
    """Run a meta over its own database and folder, and a collector."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        settings = {**environment, "META_OBJECT_STORE_URL": (folder / "objects").as_uri()}
        server = stack.enter_context(bench_server(postgres.url_of(name), settings))
        with server.client() as client:
            dataset = folder.name
            client.catalog.CreateDataset(CreateDatasetRequest(name=dataset))
            request = CreateIngestTokenRequest(name=dataset, dataset_name=dataset)
            token = client.ingest_token.CreateIngestToken(request).plaintext_token
        collector = stack.enter_context(running_collector(server.address, **environment))
        sampled_every = SAMPLED_EVERY if name.endswith("sampled") else 0
        entries = registrations.entries(server.database_url, CALLERS, BACKLOG)
        yield _Contender(server, collector, token, sampled_every, entries)


def _tracing(endpoint: str) -> dict[str, str]:
    """The environment of a process that records each hundredth trace, and those of its callers."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": str(1 / SAMPLED_EVERY),
    }


class _Receiver(grpc.GenericRpcHandler):
    """Takes what any exporter sends, and drops it."""

    def service(self, _: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"")


@contextmanager
def _trace_receiver() -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2), handlers=[_Receiver()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(None)
