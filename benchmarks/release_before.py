"""Hot calls of today's meta beside those of the release before, by CPU, in interleaved pairs.

`make releases` builds the environment of the release; without it nothing is measured. Each release
serves its own database on one Postgres, and both get the same calls in turn. A pair of rounds
gives a ratio of meta's CPU a call; judged is the upper end of the 95 % interval of their median.
Two processes of one program differ by up to 6 % as long as they live, so both start several times.
"""

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import psycopg

from benchmarks import commit_offset, find_segments, register_merged_segment
from benchmarks.harness import call_figures, cpu_pairs, registrations, segment_rows
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.cpu_pairs import Ratios
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.v1.common_pb2 import TimeRange
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segplane.stack.postgres import EmbeddedPostgres

RELEASE = "0.3.0"
PYTHON = Path(__file__).parents[1] / "build/releases" / RELEASE / "env/bin/python"
STARTS, PAIRS_OF_START = 15, 2
PAIRS = STARTS * PAIRS_OF_START
BAR = 1.05
CALLERS = 64
COMMITS, REGISTRATIONS, FIND_SECS = 250, 100, 4.0
BACKLOG = 100
SEGMENTS = 100_000


def run() -> list[Result]:
    """Both releases in turn, call by call."""
    if not PYTHON.exists():
        print(f"  {PYTHON} is not there: `make releases` builds it", flush=True)
        return []
    with ExitStack() as stack:
        postgres = stack.enter_context(bench_postgres())
        assert postgres.pid is not None
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE before")
        for url in (postgres.url, postgres.url_of("before")):
            with _server(postgres, url) as server:
                segment_rows.load(server.database_url, SEGMENTS)
        loads: dict[str, Callable[[BenchServer], CallLoad]] = {
            "commit_offset": _commits,
            "register_merged_segment": _registrations,
            "find_segments": _lookups,
        }
        pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in loads}
        for _ in range(STARTS):
            with (
                _server(postgres, postgres.url) as ours,
                _server(postgres, postgres.url_of("before")) as theirs,
            ):
                for name, load in loads.items():
                    pairs[name] += _pairs(ours, theirs, postgres.pid, load)
                    median = statistics.median(mine / other for mine, other in pairs[name])
                    print(f"  {name}: {median:.3f} after {len(pairs[name])} pairs", flush=True)
        return [_result(name, cpu_pairs.enclosed(each)) for name, each in pairs.items()]


def _server(postgres: EmbeddedPostgres, url: str) -> AbstractContextManager[BenchServer]:
    return bench_server(url, python=None if url == postgres.url else PYTHON)


def _pairs(
    ours: BenchServer,
    theirs: BenchServer,
    postgres_pid: int,
    load: Callable[[BenchServer], CallLoad],
) -> list[tuple[float, float]]:
    """Milliseconds of CPU a call of both, in each round."""
    cpu: dict[int, list[float]] = {ours.pid: [], theirs.pid: []}
    # The first round of each is not counted: connections, plans, caches.
    for number in range(PAIRS_OF_START + 1):
        pair = (ours, theirs) if number % 2 else (theirs, ours)
        for server in pair:
            figures, _ = call_figures.measure(server, postgres_pid, load(server))
            cpu[server.pid].append(figures.meta_cpu_ms)
    return list(zip(cpu[ours.pid][1:], cpu[theirs.pid][1:], strict=True))


def _result(name: str, ratios: Ratios) -> Result:
    return compare(
        f"release_before_{name}",
        ratios.upper,
        1.0,
        reference_name=f"meta {RELEASE}, {ratios.theirs_ms:.4g} ms of CPU a call",
        unit=f"upper end of the ratio's 95 % interval {ratios.interval}, {PAIRS} pairs,"
        f" {ratios.ours_ms:.4g} ms of CPU a call",
        bar=BAR,
        higher_is_better=False,
    )


def _commits(server: BenchServer) -> CallLoad:
    made = registrations.entries(server.database_url, CALLERS, BACKLOG)
    requests = [[commit_offset.request(e, BACKLOG + n) for n in range(COMMITS)] for e in made]
    return CallLoad(server.address, commit_offset.COMMIT, requests)


def _registrations(server: BenchServer) -> CallLoad:
    made = registrations.entries(server.database_url, CALLERS, BACKLOG)
    requests = registrations.requests(made, range(REGISTRATIONS))
    return CallLoad(server.address, register_merged_segment.SINGLE, requests)


def _lookups(server: BenchServer) -> CallLoad:
    newest = segment_rows.NEWEST_NANOS
    request = FindSegmentsRequest(
        time_range=TimeRange(start_time=newest - segment_rows.DAY_NANOS, end_time=newest),
        limit=find_segments.PAGE,
    )
    requests = [[request.SerializeToString()]] * CALLERS
    return CallLoad(server.address, find_segments.FIND, requests, FIND_SECS)
