"""CommitOffset through gRPC at 64 callers, against an empty RPC with the same generator."""

import statistics
from uuid import uuid4

import psycopg

from benchmarks.harness import grpc_load
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.ingestion_pb2 import RegisterForStreamRequest

CALLERS = 64
SECONDS = 4.0
ROUNDS = 5
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


def run() -> list[Result]:
    """Three rounds of echo and commit in turn; medians."""
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        with server.client() as client:
            streams = _streams(client)
        echo, commit, shared = [], [], []
        offset = 0
        for _ in range(ROUNDS):
            echo.append(
                grpc_load.run(grpc_load.GrpcLoad(server.address, CALLERS, SECONDS)).per_second
            )
            before = _commits(postgres.url)
            load = grpc_load.GrpcLoad(server.address, CALLERS, SECONDS, streams, offset)
            rate = grpc_load.run(load)
            whole_secs = SECONDS + grpc_load.WARM_UP_SECS
            calls = rate.per_second * whole_secs
            shared.append(calls / max(1, _commits(postgres.url) - before))
            commit.append(rate.per_second)
            streams, offset = _more_streams(server.client()), 0
    return [
        compare(
            "commit_offset_per_second",
            statistics.median(commit),
            statistics.median(echo),
            reference_name="empty RPC on the same server",
            unit="calls/s at 64 callers",
            bar=0.75,
        ),
        compare(
            "commit_offset_calls_per_database_commit",
            statistics.median(shared),
            1.0,
            reference_name="one commit per call",
            unit="calls per commit",
            bar=8.0,
        ),
    ]


def _streams(client: MetaClient) -> list[str]:
    client.catalog.CreateDataset(CreateDatasetRequest(name="bench"))
    return _more_streams(client)


def _more_streams(client: MetaClient) -> list[str]:
    """A fresh stream per caller."""
    token = client.ingest_token.CreateIngestToken(
        CreateIngestTokenRequest(name=str(uuid4()), dataset_name="bench")
    ).plaintext_token
    return [
        client.ingestion.RegisterForStream(
            RegisterForStreamRequest(
                collector_id=str(uuid4()), collector_string="bench", ingest_token=token
            )
        ).stream_id
        for _ in range(CALLERS)
    ]


def _commits(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(_COMMITS).fetchone()
        assert row is not None
        return int(row[0])
