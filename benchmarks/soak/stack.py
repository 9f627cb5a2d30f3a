"""A whole Segplane at its shipped pace, but for graces so short that deletion happens all along."""

import os
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from prometheus_client.parser import text_string_to_metric_families

import meta.config
import nursery.config
from benchmarks.harness.server import bench_postgres
from meta.client import MetaClient
from meta.process.environment import Environment
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segplane.stack.config import StackSettings, environment_of
from segplane.stack.dev import Stack
from segplane.stack.preflight import claim_ports

# The shipped pace, which `segplane dev` quickens for people at a screen.
PACE = {
    "META_FLUSH_TIMEOUT_MS": "1000",
    "NURSERY_INTERVAL_SECS": "1",
    "NURSERY_WAIT_SECS": "2",
}
# Long enough to see every object that is written, short enough to see all of them deleted.
GRACE = {
    "META_UNSAFE_SHORT_GRACE": "true",
    "META_CURSOR_LIFETIME_SECS": "20",
    "META_TOMBSTONE_GRACE_SECS": "30",
}
CYCLE_METRIC = "segplane_nursery_cycle_seconds"


@dataclass(frozen=True, slots=True)
class Cycle:
    """The nursery's cycles that moved something, since its start: how many, and their seconds."""

    count: float
    job_secs: float
    register_secs: float

    @property
    def mean_job_secs(self) -> float:
        """One job."""
        return self.job_secs / self.count if self.count else 0.0

    @property
    def mean_register_secs(self) -> float:
        """The registration of one job's segments."""
        return self.register_secs / self.count if self.count else 0.0

    def since(self, before: Self) -> "Cycle":
        """Log lines after `before`."""
        return Cycle(
            self.count - before.count,
            self.job_secs - before.job_secs,
            self.register_secs - before.register_secs,
        )


@dataclass(frozen=True, slots=True)
class SoakStack:
    """A running Segplane with all its processes; `tmp_dir` has their temporary files."""

    stack: Stack
    postgres_url: str
    postgres_pid: int
    objects_dir: Path
    tmp_dir: Path
    nursery_metrics_port: int

    @property
    def flush_secs(self) -> float:
        """Flush timeout of the collector."""
        environment = environment_of(self.stack.settings, "meta")
        settings = {**environment, "META_DATABASE_URL": self.postgres_url}
        return meta.config.load(Environment("META_", settings)).stream.flush_timeout_ms / 1e3

    @property
    def nursery(self) -> nursery.config.Settings:
        """Settings of the nursery."""
        environment = environment_of(self.stack.settings, "nursery")
        return nursery.config.load(Environment("NURSERY_", environment))

    def cycle(self) -> Cycle:
        """Read the nursery's own figures since its start."""
        url = f"http://127.0.0.1:{self.nursery_metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as reply:
            text = reply.read().decode()
        found: dict[tuple[str, str], float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found[sample.name, sample.labels.get("step", "")] = sample.value
        # Every poll runs a job, mostly an empty one; only cycles that moved something register.
        return Cycle(
            count=found.get((f"{CYCLE_METRIC}_count", "register"), 0.0),
            job_secs=found.get((f"{CYCLE_METRIC}_sum", "job"), 0.0),
            register_secs=found.get((f"{CYCLE_METRIC}_sum", "register"), 0.0),
        )


@contextmanager
def soak_stack() -> Iterator[SoakStack]:
    """Run everything below a temporary folder; the logs' tails are printed on failure."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-soak-"))
    tmp_dir = folder / "tmp"
    tmp_dir.mkdir()
    metrics_port = claim_ports({"metrics": 0})["metrics"]
    environment = {
        **os.environ,
        **PACE,
        **GRACE,
        "NURSERY_METRICS_PORT": str(metrics_port),
        "TMPDIR": str(tmp_dir),
        "SPARK_LOCAL_DIRS": str(tmp_dir),
    }
    try:
        with bench_postgres() as postgres:
            settings = StackSettings(
                data_dir=folder,
                meta_port=0,
                otlp_grpc_port=0,
                otlp_http_port=0,
                gateway_port=0,
                database_url=postgres.url,
                has_metrics=True,
                inherited=environment,
            )
            with Stack(settings, lambda line: print(f"  {line}", flush=True)) as stack:
                assert postgres.pid is not None
                yield SoakStack(
                    stack, postgres.url, postgres.pid, folder / "objects", tmp_dir, metrics_port
                )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_datasets(client: MetaClient, names: Sequence[str]) -> dict[str, str]:
    """Make datasets; returns a token for each by name."""
    tokens = {}
    for name in names:
        client.catalog.CreateDataset(CreateDatasetRequest(name=name))
        request = CreateIngestTokenRequest(name=name, dataset_name=name)
        tokens[name] = client.ingest_token.CreateIngestToken(request).plaintext_token
    return tokens
