"""FindSegments of segments in a named store, against the same segments in the default one, by CPU.

Three metas over three databases of one Postgres take turns. Each call answers an hour of all
datasets. The figure is the CPU time of meta and Postgres together. The keys of a named store are
longer, so a meta without named stores also answers segments with keys of that length.
"""

import statistics
from collections.abc import Sequence
from contextlib import ExitStack

import psycopg

from benchmarks.harness import call_figures, segment_rows
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.results import Result, compare
from benchmarks.harness.segment_rows import DAY_NANOS, NEWEST_NANOS
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.common_pb2 import TimeRange
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest, FindSegmentsResponse

STORE = "cold"
DATASETS, SEGMENTS = 50, 50_000
FIND = "/meta.v1.SegmentLookupService/FindSegments"
CALLERS, LOAD_SECS, ROUNDS = 4, 2.0, 9
BAR = 1.05


def run() -> list[Result]:
    """Measure both in turn."""
    with ExitStack() as stack:
        postgres = stack.enter_context(bench_postgres({"autovacuum": "off"}))
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE long_keys")
            connection.execute("CREATE DATABASE named")
        servers = (
            _server(stack, postgres.url, "", ""),
            _server(stack, postgres.url_of("long_keys"), "", STORE),
            _server(stack, postgres.url_of("named"), STORE, STORE),
        )
        assert postgres.pid is not None
        cpu_ms: list[list[float]] = [[] for _ in servers]
        for round_number in range(ROUNDS + 1):
            for server, own in zip(servers, cpu_ms, strict=True):
                measured = _call_cpu_ms(server, postgres.pid)
                # The first calls of a server are slower.
                if round_number:
                    own.append(measured)
    default, long_keys, named = cpu_ms
    return [
        _compared("find_segments_named_store", named, default, "the same in the default store"),
        _compared(
            "find_segments_named_store_same_keys", named, long_keys, "keys of the same length"
        ),
    ]


def _compared(
    name: str, ours: Sequence[float], reference: Sequence[float], reference_name: str
) -> Result:
    ratios = sorted(own / other for own, other in zip(ours, reference, strict=True))
    print(f"  {name}: {', '.join(f'{ratio:.3f}' for ratio in ratios)}", flush=True)
    return compare(
        name,
        statistics.median(ours),
        statistics.median(reference),
        reference_name=reference_name,
        unit=f"CPU ms a call of meta and Postgres, {CALLERS} callers, an hour of {SEGMENTS:,}"
        f" segments; median of the rounds' ratios {statistics.median(ratios):.3f}",
        bar=BAR,
        higher_is_better=False,
    )


def _server(stack: ExitStack, url: str, configured: str, store: str) -> BenchServer:
    """A meta with a named store, "" = none, whose segments have the keys of a store."""
    named = f"{configured}=file:///nonexistent/{configured}" if configured else ""
    server = stack.enter_context(bench_server(url, {"META_OBJECT_STORES": named}))
    with server.client() as client:
        for number in range(DATASETS - 1):
            client.catalog.CreateDataset(CreateDatasetRequest(name=f"bench-{number:03}"))
    segment_rows.load(url, SEGMENTS, store)
    return server


def _call_cpu_ms(server: BenchServer, postgres_pid: int) -> float:
    window = TimeRange(start_time=NEWEST_NANOS - DAY_NANOS // 24, end_time=NEWEST_NANOS)
    request = FindSegmentsRequest(time_range=window).SerializeToString()
    load = CallLoad(server.address, FIND, [[request]] * CALLERS, LOAD_SECS)
    figures, (reply, *_) = call_figures.measure(server, postgres_pid, load)
    assert len(FindSegmentsResponse.FromString(reply).segments) > SEGMENTS // 240
    return figures.meta_cpu_ms + figures.postgres_cpu_ms
