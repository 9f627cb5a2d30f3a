"""Statements and calls that would lead out of a query's process."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer

WAYS_OUT = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM web, LATERAL (SELECT * FROM read_text(web.body))",
    "WITH c AS (SELECT * FROM glob('/etc/*')) SELECT * FROM c",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM parquet_scan('/tmp/x.parquet')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM duckdb_settings()",
    "SELECT current_setting('temp_directory')",
    "SELECT getenv('AWS_SECRET_ACCESS_KEY')",
    "ATTACH '/tmp/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "CALL pragma_version()",
    "EXPORT DATABASE '/tmp/x'",
    "CREATE TABLE t AS SELECT 1",
    "COPY (SELECT 1) TO '/tmp/x'",
    "SELECT 1; ATTACH '/tmp/x.db'",
)


def test_no_statement_leads_out(gateway: GatewayServer, segments: SegmentWriter) -> None:
    segments.write(rows=1)

    def refused(text: str) -> tuple[int, bool]:
        answer = gateway.query(text, language="sql")
        return answer.status, "\n" in answer.message or "Traceback" in answer.message

    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip(WAYS_OUT, pool.map(refused, WAYS_OUT), strict=True))

    assert answers == dict.fromkeys(WAYS_OUT, (400, False))


def test_a_process_cannot_get_out_or_take_more() -> None:
    script = """
import os, socket, subprocess
from segplane.gateway.queries.processes import sandbox
sandbox.enter(64 << 20, 1 << 20)
for attempt in (socket.socket, lambda: subprocess.run(["true"]), lambda: os.kill(os.getppid(), 0)):
    try:
        attempt()
        print("done")
    except PermissionError:
        print("refused")
try:
    bytearray(128 << 20)
    print("done")
except MemoryError:
    print("refused")
print(len(bytearray(16 << 20)))
"""
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)

    assert shown.stdout.decode().split() == ["refused"] * 4 + [str(16 << 20)]
