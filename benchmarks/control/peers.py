"""Runs a peer that publishes files, in its own environment."""

import json
import subprocess
import tempfile
from pathlib import Path

import psycopg

from segplane.stack.postgres import EmbeddedPostgres

PYTHON = Path("build/bench/control/bin/python")
NAMES = {"iceberg": "PyIceberg's SqlCatalog, add_files", "ducklake": "DuckLake, add_data_files"}
_PEER_SECS_MAX = 300.0


def measure_peer(
    postgres: EmbeddedPostgres,
    name: str,
    callers: int,
    seconds: float,
    files: int,
    *,
    is_read: bool = False,
) -> float:
    """Return the files that callers published a second, so many in a commit.

    With `is_read` a reader loads the tables meanwhile, and the time until it has seen the last
    file counts. The catalog is a new database of the Postgres.
    """
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as folder:
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            # The files of the round before are gone.
            connection.execute(f"DROP DATABASE IF EXISTS {name}")
            connection.execute(f"CREATE DATABASE {name}")
        command = [str(PYTHON), "benchmarks/control/peer.py", name, postgres.url_of(name), folder]
        done = subprocess.run(
            [*command, str(callers), str(seconds), str(files), *(["read"] if is_read else [])],
            stdout=subprocess.PIPE,
            check=True,
            timeout=_PEER_SECS_MAX,
        )
    figures = json.loads(done.stdout.splitlines()[-1])
    print(f"  {name}, {files} in a commit: {figures}", flush=True)
    return float(figures["files"]) / float(figures["seconds"])
