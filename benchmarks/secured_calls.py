"""CommitOffset and FindSegments with TLS, roles and audit, against the same calls without.

Two servers of the same release, each with its own database in one Postgres, take turns. The
bar is on CPU a call, of meta and of Postgres: other programs of the machine change wall time. A
caller makes all its calls on one connection, as collectors do for up to an hour; its handshake
takes as much as some twenty of its calls.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg

from benchmarks.harness import call_figures, segment_rows
from benchmarks.harness.call_figures import CallFigures
from benchmarks.harness.call_load import CallLoad, CallSecurity
from benchmarks.harness.certificate import self_signed
from benchmarks.harness.results import Result, compare
from benchmarks.harness.segment_rows import DAY_NANOS, NEWEST_NANOS
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.client import MetaClient
from meta.client.channel import ClientTls
from meta.roles import Role
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.common_pb2 import TimeRange
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.ingestion_pb2 import CommitOffsetRequest, RegisterForStreamRequest
from meta.v1.operations_pb2 import CreateAccessTokenRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest

CALLERS = 16
COMMITS, FINDS = 500, 60
ROUNDS = 5
SEGMENTS, DATASETS = 20_000, 10
BAR = 0.9
COMMIT = "/meta.v1.IngestionService/CommitOffset"
FIND = "/meta.v1.SegmentLookupService/FindSegments"
ADMIN_TOKEN = "the admin token of this benchmark"


@dataclass(frozen=True, slots=True)
class _Contender:
    """A server with segments, and the tokens of callers, none where it needs none."""

    server: BenchServer
    postgres_pid: int
    ingest: str
    tokens: Mapping[Role, str]

    def commit(self) -> CallFigures:
        """Commits of many collectors, each to a new stream."""
        return self._run(COMMIT, [self._commits() for _ in range(CALLERS)], Role.INGEST)

    def find(self) -> CallFigures:
        """The newest hour of all datasets, for many readers."""
        window = TimeRange(start_time=NEWEST_NANOS - DAY_NANOS // 24, end_time=NEWEST_NANOS)
        request = FindSegmentsRequest(time_range=window).SerializeToString()
        return self._run(FIND, [[request] * FINDS] * CALLERS, Role.READER)

    def _commits(self) -> list[bytes]:
        """The commits of a collector that has just registered."""
        register = RegisterForStreamRequest(collector_id=str(uuid4()), ingest_token=self.ingest)
        token = self.tokens.get(Role.INGEST, "")
        with MetaClient(self.server.address, auth_token=token, tls=self.server.tls) as client:
            stream_id = client.ingestion.RegisterForStream(register).stream_id
        return [
            CommitOffsetRequest(
                stream_id=stream_id,
                committed_offset=offset,
                start_time=1,
                end_time=2,
                size_bytes=1_000_000,
                num_records=1_000,
            ).SerializeToString()
            for offset in range(COMMITS)
        ]

    def _run(self, method: str, requests: Sequence[Sequence[bytes]], role: Role) -> CallFigures:
        tls = self.server.tls
        security = CallSecurity(tls.ca_file if tls else "", [self.tokens.get(role, "")])
        load = CallLoad(self.server.address, method, requests, security=security)
        return call_figures.measure(self.server, self.postgres_pid, load)[0]


def run() -> list[Result]:
    """Let both servers take turns; medians."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        with ExitStack() as stack:
            postgres = stack.enter_context(bench_postgres())
            assert postgres.pid is not None
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                connection.execute("CREATE DATABASE secured")
            settings, tls = _security(folder)
            plain = stack.enter_context(bench_server(postgres.url))
            secured = stack.enter_context(
                bench_server(postgres.url_of("secured"), settings, tls=tls)
            )
            contenders = [_contender(one, postgres.pid) for one in (secured, plain)]
            return [
                *_compared("commit_offset", contenders, _Contender.commit),
                *_compared("find_segments", contenders, _Contender.find),
            ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _security(folder: Path) -> tuple[dict[str, str], ClientTls]:
    made = self_signed(folder)
    settings = {
        "META_TLS_CERT_FILE": str(made.certificate),
        "META_TLS_KEY_FILE": str(made.key),
        "META_AUTH_TOKEN": ADMIN_TOKEN,
        "META_REQUIRE_AUTHENTICATION": "true",
    }
    return settings, ClientTls(str(made.certificate))


def _contender(server: BenchServer, postgres_pid: int) -> _Contender:
    tokens: dict[Role, str] = {}
    with server.client() as admin:
        for number in range(DATASETS):
            admin.catalog.CreateDataset(CreateDatasetRequest(name=f"bench-{number:03}"))
        ingest = admin.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name="bench", dataset_name="bench-000")
        ).plaintext_token
        for role in (Role.INGEST, Role.READER) if server.auth_token else ():
            create = CreateAccessTokenRequest(subject=role.value, role=role.value)
            tokens[role] = admin.operations.CreateAccessToken(create).plaintext_token
    segment_rows.load(server.database_url, SEGMENTS)
    return _Contender(server, postgres_pid, ingest, tokens)


def _compared(
    name: str, contenders: Sequence[_Contender], call: Callable[[_Contender], CallFigures]
) -> Iterator[Result]:
    figures: list[list[CallFigures]] = [[] for _ in contenders]
    for number in range(ROUNDS + 1):
        # The order changes, because the first calls of a server are slower.
        for place in (0, 1) if number % 2 else (1, 0):
            measured = call(contenders[place])
            if number:
                figures[place].append(measured)
    ours, plain = map(call_figures.median, figures)
    yield compare(
        f"secured_{name}_per_cpu_second",
        1e3 / (ours.meta_cpu_ms + ours.postgres_cpu_ms),
        1e3 / (plain.meta_cpu_ms + plain.postgres_cpu_ms),
        reference_name="the same without TLS and credentials",
        unit=f"calls a CPU second of {CALLERS} callers; CPU a call: meta {ours.meta_cpu_ms:.3g}"
        f" against {plain.meta_cpu_ms:.3g} ms, Postgres {ours.postgres_cpu_ms:.3g} against"
        f" {plain.postgres_cpu_ms:.3g} ms; calls/s {ours.per_second:.4g} against"
        f" {plain.per_second:.4g}",
        bar=BAR,
    )
