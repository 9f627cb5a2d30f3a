"""An installation with many datasets and tokens, all of them routed on one collector's stream.

The datasets and tokens that send are created by calls. The others, which only exist, are rows that
a few statements write, as those calls and RegisterForStream would have left them: by calls they
would take half an hour. Postgres, meta and collector are their own processes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg

from benchmarks.harness.server import bench_postgres, bench_server
from benchmarks.harness.waiting import wait_until_serving
from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.ingestion_pb2 import RegisterForStreamRequest
from segplane.stack.preflight import claim_ports

COLLECTOR_ID = "crowded"
_DATASETS = """
WITH made AS (
    INSERT INTO datasets (id, name, changed_version)
    SELECT gen_random_uuid(), 'idle-' || n, %(version)s FROM generate_series(1, %(count)s) n
    RETURNING id, key
), shown AS (
    INSERT INTO dataset_visibility (dataset_key, from_version) SELECT key, %(version)s FROM made
), counted AS (
    INSERT INTO dataset_stats (dataset_key) SELECT key FROM made
), tokens AS (
    INSERT INTO ingest_tokens (id, name, digest, hint, logs_dataset_id, traces_dataset_id,
        metrics_dataset_id, changed_version)
    SELECT gen_random_uuid(), 'idle-' || key, decode(md5(id::text) || md5(key::text), 'hex'),
        'idle', id, id, id, %(version)s
    FROM made RETURNING id, logs_dataset_id
), carried AS (
    INSERT INTO stream_tokens (stream_id, token_id) SELECT %(stream)s, id FROM tokens
), periods AS (
    INSERT INTO routing_periods (stream_id, token_id, from_offset, logs_dataset_id,
        traces_dataset_id, metrics_dataset_id)
    SELECT %(stream)s, id, 0, logs_dataset_id, logs_dataset_id, logs_dataset_id FROM tokens
)
INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset, changed_version)
SELECT %(stream)s, logs_dataset_id, -1, -1, %(version)s FROM tokens
"""


@dataclass(frozen=True, slots=True)
class Crowded:
    """A running installation; `secrets` are those of the tokens that send, one a dataset."""

    address: str
    client: MetaClient
    otlp_address: str
    secrets: tuple[str, ...]
    dataset_ids: tuple[str, ...]
    pids: tuple[int, ...]


@contextmanager
def crowded(total: int, sending: int) -> Iterator[Crowded]:
    """Run an installation of `total` datasets and as many tokens, `sending` of which are used."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        postgres = stack.enter_context(bench_postgres())
        objects = {"META_OBJECT_STORE_URL": folder.as_uri()}
        server = stack.enter_context(bench_server(postgres.url, objects))
        client = stack.enter_context(server.client())
        dataset_ids, secrets = zip(*(_create(client, n) for n in range(sending)), strict=True)
        stream_id = [_register(client, secret) for secret in secrets][-1]
        _fill(postgres.url, total - sending, stream_id)
        collector, otlp_address = stack.enter_context(_collector(server.address))
        assert postgres.pid is not None
        pids = (postgres.pid, server.pid, collector)
        yield Crowded(server.address, client, otlp_address, secrets, dataset_ids, pids)


def register_all(client: MetaClient, secrets: Sequence[str]) -> None:
    """Register tokens for the stream, as a collector that was restarted does."""
    for secret in secrets:
        _register(client, secret)


def _create(client: MetaClient, number: int) -> tuple[str, str]:
    name = f"sending-{number}"
    dataset_id = client.catalog.CreateDataset(CreateDatasetRequest(name=name)).id
    request = CreateIngestTokenRequest(name=name, dataset_name=name)
    return dataset_id, client.ingest_token.CreateIngestToken(request).plaintext_token


def _register(client: MetaClient, secret: str) -> str:
    request = RegisterForStreamRequest(collector_id=COLLECTOR_ID, ingest_token=secret)
    return client.ingestion.RegisterForStream(request).stream_id


def _fill(url: str, count: int, stream_id: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT version FROM meta_state").fetchone()
        assert row is not None
        values = {"count": count, "stream": UUID(stream_id), "version": row[0]}
        if count > 0:
            connection.execute(_DATASETS, values)
        connection.execute("VACUUM ANALYZE")


@contextmanager
def _collector(meta_address: str) -> Iterator[tuple[int, str]]:
    ports = claim_ports({"grpc": 0, "http": 0})
    address = f"127.0.0.1:{ports['grpc']}"
    environment = {
        **os.environ,
        "COLLECTOR_META_ADDRESS": meta_address,
        "COLLECTOR_ID": COLLECTOR_ID,
        "COLLECTOR_GRPC_BIND": address,
        "COLLECTOR_HTTP_BIND": f"127.0.0.1:{ports['http']}",
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "collector"], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        wait_until_serving(process, address)
        yield process.pid, address
    finally:
        process.terminate()
        process.wait()
