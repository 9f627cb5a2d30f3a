"""The server of meta's benchmarks: a real process over a real, durable Postgres."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness.waiting import wait_until_serving
from meta.client import MetaClient
from meta.client.channel import ClientTls
from segplane.stack.postgres import EmbeddedPostgres
from segplane.stack.preflight import claim_ports


@dataclass(frozen=True, slots=True)
class BenchServer:
    """A running meta."""

    address: str
    database_url: str
    pid: int
    tls: ClientTls | None = None
    auth_token: str = field(default="", repr=False)

    def client(self) -> MetaClient:
        """A new client of it, an admin where it needs a credential."""
        return MetaClient(self.address, auth_token=self.auth_token, tls=self.tls)


@contextmanager
def bench_postgres(settings: Mapping[str, str] | None = None) -> Iterator[EmbeddedPostgres]:
    """Run a Postgres with its default durability (synchronous_commit on, fsync on)."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "postgres", settings=settings) as postgres:
            yield postgres
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def bench_server(
    database_url: str,
    settings: Mapping[str, str] | None = None,
    module: str = "meta",
    tls: ClientTls | None = None,
    python: Path | None = None,
) -> Iterator[BenchServer]:
    """Run `python -m meta` as users do, or another module, on its own port.

    `tls` is that of its clients, where the settings make it serve TLS; `python` the interpreter of
    another environment.
    """
    port = claim_ports({"meta": 0})["meta"]
    address = f"127.0.0.1:{port}"
    environment = {
        **os.environ,
        "META_BIND": address,
        "META_DATABASE_URL": database_url,
        "META_OBJECT_STORE_URL": "file:///nonexistent/bench",
        **(settings or {}),
    }
    process = subprocess.Popen(
        [str(python or sys.executable), *(["-P"] if module == "meta" else []), "-m", module],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_serving(process, address, tls)
        auth_token = environment.get("META_AUTH_TOKEN", "")
        yield BenchServer(address, database_url, process.pid, tls, auth_token)
    finally:
        process.terminate()
        process.wait()
