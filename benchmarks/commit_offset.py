"""CommitOffset through gRPC at 1 to 64 callers, against an empty RPC with the same generator.

Commits are as collectors make them: with flush id, checksum and the stamp of a dataset, on
streams that have checkpoints and a backlog. CPU is that of meta's and Postgres' processes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import uuid4

import psycopg

from benchmarks.harness import call_figures, registrations
from benchmarks.harness.call_figures import ECHO, EMPTY, CallFigures
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.registrations import Entry
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.v1.ingestion_pb2 import CommitOffsetRequest

COMMIT = "/meta.v1.IngestionService/CommitOffset"
CALLERS = (1, 4, 16, 64)
CALLERS_MAX = CALLERS[-1]
ROUNDS = 5
ECHO_SECS = 2.0
# Commits of each caller in a round.
CALLS_OF_FEW, CALLS_OF_MANY = 300, 150
BACKLOG = 100
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


@dataclass(frozen=True, slots=True)
class _Scene:
    """A server and its database."""

    server: BenchServer
    postgres_pid: int

    def echo(self, callers: int) -> CallFigures:
        """The empty RPC: a health check."""
        return self._run(CallLoad(self.server.address, ECHO, [[EMPTY]] * callers, ECHO_SECS))

    def commits(self, callers: int) -> CallFigures:
        """Commits, each caller on its own stream."""
        calls = CALLS_OF_MANY if callers == CALLERS_MAX else CALLS_OF_FEW
        made = registrations.entries(self.server.database_url, callers, BACKLOG)
        requests = [[request(entry, BACKLOG + n) for n in range(calls)] for entry in made]
        return self._run(CallLoad(self.server.address, COMMIT, requests))

    def per_database_commit(self) -> float:
        """Commits of many callers for each commit of the database."""
        before = _commits(self.server.database_url)
        self.commits(CALLERS_MAX)
        return CALLERS_MAX * CALLS_OF_MANY / (_commits(self.server.database_url) - before)

    def _run(self, load: CallLoad) -> CallFigures:
        return call_figures.measure(self.server, self.postgres_pid, load)[0]


def run() -> list[Result]:
    """Empty RPCs and commits in turn; medians."""
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        assert postgres.pid is not None
        scene = _Scene(server, postgres.pid)
        # The first calls of a server are slower: connections, plans.
        scene.commits(CALLERS_MAX)
        rounds = [{n: (scene.echo(n), scene.commits(n)) for n in CALLERS} for _ in range(ROUNDS)]
        shared = scene.per_database_commit()
    medians = {
        n: tuple(map(call_figures.median, zip(*(one[n] for one in rounds), strict=True)))
        for n in CALLERS
    }
    return [*_rates(medians), _shared(shared)]


def _rates(figures: Mapping[int, tuple[CallFigures, ...]]) -> Iterator[Result]:
    for callers, (echo, commit) in figures.items():
        is_judged = callers == CALLERS_MAX
        yield compare(
            "commit_offset_per_second" if is_judged else f"commit_offset_{callers}_callers",
            commit.per_second,
            echo.per_second,
            reference_name=f"empty RPC on the same server, p99 {echo.p99_ms:.3g} ms",
            unit=f"calls/s at {callers} callers, p50 {commit.p50_ms:.3g} ms, p99"
            f" {commit.p99_ms:.3g} ms, CPU a call: meta {commit.meta_cpu_ms:.3g} ms (empty RPC"
            f" {echo.meta_cpu_ms:.3g}), Postgres {commit.postgres_cpu_ms:.3g} ms",
            bar=0.85 if is_judged else 0.0,
        )


def _shared(calls: float) -> Result:
    return compare(
        "commit_offset_calls_per_database_commit",
        calls,
        1.0,
        reference_name="one commit per call",
        unit="calls per commit",
        bar=8.0,
    )


def request(entry: Entry, offset: int) -> bytes:
    """The commit of one flush, as a collector makes it."""
    commit = CommitOffsetRequest(
        stream_id=entry.stream_id,
        committed_offset=offset,
        start_time=1_790_000_000_000_000_000,
        end_time=1_790_000_000_999_999_999,
        size_bytes=1_000_000,
        num_records=1_000,
        flush_id=uuid4().bytes,
        dataset_ids=[entry.dataset_id],
        dataset_records=[1_000],
        crc32c=offset,
    )
    return commit.SerializeToString()


def _commits(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(_COMMITS).fetchone()
        assert row is not None
        return int(row[0])
