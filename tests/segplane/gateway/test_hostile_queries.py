"""Queries that ask for what is not there, take too much, or are left by their callers."""

import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from segplane.gateway.http.bodies import BODY_BYTES_MAX
from segplane.gateway.queries.processes.child import RUNNING_NAME
from segplane.gateway.queries.processes.pool import ProcessPool
from segplane.gateway.queries.processes.process import Launcher
from segplane.gateway.queries.settings import MIB, QuerySettings
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.process_tree import children_of, command_of, is_alive, name_of
from tests.support.waiting import DEADLINE_SECS, wait_until

TABLES = "web a, web b, web c, web d, web e"
ENDLESS = f"SELECT count(*) FROM {TABLES} WHERE a.body || b.body || e.body = c.body || d.body"  # noqa: S608
LARGE = f"SELECT list(a.body || b.body || c.body || d.body) FROM {TABLES}"  # noqa: S608
ROWS = "SELECT range, repeat('x', 1000) AS pad FROM range(100000000)"
Start = Callable[..., GatewayServer]

JSON_TYPE = {"Content-Type": "application/json"}


@pytest.fixture
def start(meta_server: MetaServer, query_pool: SharedPool) -> Iterator[Start]:
    """Give a function that starts a gateway with other limits of queries."""
    running: list[GatewayServer] = []

    def started(pool: ProcessPool | None = query_pool, **limits: Any) -> GatewayServer:
        settings = QuerySettings(**limits)
        running.append(GatewayServer(meta_server.address, pool=pool, queries=settings))
        return running[-1]

    yield started
    for gateway in running:
        gateway.close()


def processes() -> list[int]:
    """Return the processes of queries that run."""
    launchers = [pid for pid in children_of(os.getpid()) if "processes.launcher" in command_of(pid)]
    pids = [pid for launcher in launchers for pid in children_of(launcher)]
    return [pid for pid in pids if name_of(pid) == RUNNING_NAME and is_alive(pid)]


def asking(gateway: GatewayServer, text: str) -> http.client.HTTPConnection:
    """Send a query, and do not wait for its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=DEADLINE_SECS)
    connection.request("POST", "/v1/query", json.dumps({"query": text}), JSON_TYPE)
    return connection


REFUSED: tuple[tuple[Any, int, str], ...] = (
    ({"query": "wbe | count"}, 400, "1:1: there is no dataset or view 'wbe'; did you mean"),
    ({"query": "SELECT * FROM wbe"}, 400, "did you mean 'web'?"),
    ({"query": "web | where bodi == ''"}, 400, "1:13: there is no column 'bodi'"),
    ({"query": "web | where timestamp == 'x'"}, 400, "1:"),
    ({"query": "SELECT 1; SELECT 2"}, 400, "a query is one SELECT"),
    ({"query": "COPY web TO '/tmp/x'", "language": "sql"}, 400, "a query is one SELECT"),
    ({"query": "SELECT * FROM read_text('/etc/passwd')", "language": "sql"}, 400, "no table"),
    ({"query": "SELECT getenv('HOME')"}, 400, "'getenv' is not available"),
    ({"query": "PRAGMA database_list", "language": "sql"}, 400, "a query is one SELECT"),
    ({"query": "\n" * 100_000}, 400, "query is not text"),
    ({"query": "web" + "\n" * 100_000}, 400, "the text has 100,003 characters"),
    ({"query": " "}, 400, "query is not text"),
    ({"query": 7}, 400, "query is not text"),
    ({"query": "web", "language": "prql"}, 400, "expected kql or sql"),
    ({"query": "web", "format": "table"}, 400, "expected one of json, csv, arrow"),
    ({"query": "web", "as": 1}, 400, "'as' is not known"),
    (["web"], 400, "the body is not an object"),
    (b"web", 400, "the body is not JSON"),
    (b"[" * 100_000, 400, "the body is not JSON"),
    ({"query": "web\n" * 1_000_000}, 413, f"more than {BODY_BYTES_MAX:,} bytes"),
)


def test_what_cannot_be_asked_is_said_in_one_line(shared: GatewayServer) -> None:
    for asked, status, message in REFUSED:
        answer = shared.post("v1/query", asked)

        assert (answer.status, message in answer.message) == (status, True), answer.body
        assert "\n" not in answer.message
        assert "Traceback" not in answer.message


RUNAWAY = (
    "SELECT count(*) FROM range(10000000000000) a, range(10000000000000) b",
    "WITH RECURSIVE t AS (SELECT 1 n UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
    "SELECT list(range) FROM range(10000000000)",
    "SELECT length(repeat('x', 1000000000) || repeat('y', 1000000000))",
    "SELECT range FROM range(100000000) ORDER BY hash(range), repeat('x', 100)",
)


def test_every_runaway_query_ends_with_its_limits(start: Start) -> None:
    gateway = start(secs=3.0, memory_bytes=256 * MIB, spill_bytes=64 * MIB)

    def placed(text: str) -> Any:
        answers = []

        def has_place() -> bool:
            answers.append(gateway.query(text))
            return answers[-1].status != 429

        wait_until(has_place, "the query got a place")
        return answers[-1]

    with ThreadPoolExecutor(len(RUNAWAY)) as pool:
        answers = list(pool.map(placed, RUNAWAY))
    # RE2 has no catastrophe: time grows with the text.
    linear = gateway.query("SELECT regexp_matches(repeat('a', 100000), '^(a+)+$b') AS m")

    for text, answer in zip(RUNAWAY, answers, strict=True):
        assert (answer.status, answer.json["error"]["type"]) == (422, "QueryStopped"), text
        assert "\n" not in answer.message
    assert linear.json == [{"m": False}]
    wait_until(lambda: not processes(), "the processes are gone")


def test_a_body_may_be_as_long_as_the_limit(shared: GatewayServer) -> None:
    content = json.dumps({"query": "print 1"}).encode()

    assert shared.post("v1/query", content.ljust(BODY_BYTES_MAX)).status == 200
    assert shared.post("v1/query", content.ljust(BODY_BYTES_MAX + 1)).status == 413


def test_a_runaway_query_is_stopped(start: Start, segments: SegmentWriter) -> None:
    segments.write(rows=200)
    gateway = start(secs=3.0, memory_bytes=256 * MIB, spill_bytes=64 * MIB)
    patient = start(secs=60.0, memory_bytes=256 * MIB, spill_bytes=64 * MIB)

    late, large = gateway.query(ENDLESS), patient.query(LARGE)

    assert (late.status, late.json["error"]["type"]) == (422, "QueryStopped")
    assert late.message.startswith("the query took longer than 3 s: ask for less time")
    assert (large.status, "needs more memory than it is allowed" in large.message) == (422, True)
    wait_until(lambda: not processes(), "the processes are gone")
    assert patient.query("web | count").json == [{"Count": 200}]


def test_a_query_reads_no_more_bytes_than_it_may(start: Start, segments: SegmentWriter) -> None:
    for _ in range(5):
        segments.write(rows=2_000)
    text = "web | summarize max(strlen(attributes)), max(strlen(body))"
    size = sum(path.stat().st_size for path in segments.folder.rglob("*.parquet"))
    gateway, strict = start(scanned_bytes=20 * size), start(scanned_bytes=1)

    assert gateway.query(text).status == 200
    refused = strict.query(f"{text} | extend x = 1")
    assert (refused.status, "read more than 1 bytes" in refused.message) == (422, True)


def test_a_result_that_is_too_large_is_cut_off(start: Start) -> None:
    gateway = start(result_bytes=2 * MIB)

    with pytest.raises(http.client.IncompleteRead):
        gateway.query(ROWS)
    assert start(result_bytes=1_000).query(ROWS).message.startswith("the result has more than")


def test_a_callers_hour_ends(start: Start) -> None:
    # Less than any query takes, which is counted when its process has ended.
    gateway = start(caller_secs=0.001)
    assert gateway.query("print 1").status == 200
    wait_until(lambda: gateway.query("print 1").status == 429, "what it took is counted")

    refused = gateway.query("print 1")

    assert (refused.status, "what they may in an hour" in refused.message) == (429, True)
    assert int(refused.headers["retry-after"]) > 1


@pytest.mark.parametrize("text", [ENDLESS, ROWS], ids=["before its result", "amid its result"])
def test_a_query_ends_when_its_caller_leaves(
    gateway: GatewayServer, segments: SegmentWriter, text: str
) -> None:
    segments.write(rows=200)
    before = set(processes())
    with closing(asking(gateway, text)):
        wait_until(lambda: bool(set(processes()) - before), "the query runs")
        (pid,) = set(processes()) - before

    left_at = time.monotonic()
    wait_until(lambda: not is_alive(pid), "the process is gone")
    assert time.monotonic() - left_at < 5
    assert gateway.query("print 1").status == 200


def test_the_process_knows_no_secret_and_ends_with_its_gateway(
    start: Start, segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    segments.write(rows=200)
    before = set(processes())
    # With its own launcher, which starts in this environment.
    gateway = start(pool=None)
    with closing(asking(gateway, ENDLESS)):
        wait_until(lambda: bool(set(processes()) - before), "the query runs")
        (pid,) = set(processes()) - before
        names = {
            line.partition("=")[0]
            for line in Path(f"/proc/{pid}/environ").read_text().split("\0")
            if line
        }
        wait_until(
            lambda: "Seccomp:\t2" in Path(f"/proc/{pid}/status").read_text(), "calls are filtered"
        )
        files = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").glob("*")}
        gateway.close()
        wait_until(lambda: not is_alive(pid), "the process is gone")

    assert names <= {
        "PATH", "PYTHONPATH", "LANG", "TMPDIR", "HOME", "ARROW_DEFAULT_MEMORY_POOL",
        "MALLOC_ARENA_MAX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_IO_THREADS",
    }  # fmt: skip
    # Four lanes, and no connection of the gateway's.
    assert len([name for name in files if name.startswith("socket:")]) == 4


def test_queries_wait_for_those_before_them(start: Start, segments: SegmentWriter) -> None:
    segments.write(rows=20)
    gateway = start(concurrent=2, caller_concurrent=2)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: gateway.query("web | count"), range(12)))

    assert [(answer.status, answer.json) for answer in answers] == [(200, [{"Count": 20}])] * 12
    wait_until(lambda: not processes(), "no process is left")


def test_a_launcher_that_does_not_answer_is_ended() -> None:
    launcher = Launcher(threads=1, answer_secs=0.2)
    os.kill(launcher.pid, signal.SIGSTOP)
    try:
        with pytest.raises(TimeoutError):
            launcher.start([])

        wait_until(lambda: not launcher.is_alive(), "it is dead")
    finally:
        launcher.close()


@pytest.mark.slow
def test_a_neighbour_is_not_slowed_down(start: Start, segments: SegmentWriter) -> None:
    segments.write(rows=200)
    gateway = start(secs=DEADLINE_SECS, concurrent=4, caller_concurrent=4)

    # The least disturbed of each: other programs of this machine take from both.
    alone = max(_cpu_share(gateway) for _ in range(3))
    hostile = [asking(gateway, ENDLESS) for _ in range(3)]
    try:
        wait_until(lambda: sum(map(_is_last, processes())) == 3, "the long ones have given way")
        beside = max(_cpu_share(gateway) for _ in range(3))
    finally:
        for connection in hostile:
            connection.close()

    assert beside > alone / 2, (alone, beside)


def _cpu_share(gateway: GatewayServer) -> float:
    """Return the share of the time of a short query that it had a processor."""
    others, used = set(processes()), 0.0

    def measure() -> None:
        nonlocal used
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used = max(used, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))

    with closing(asking(gateway, "SELECT sum(hash(range)) FROM range(60000000)")) as connection:
        wait_until(lambda: bool(set(processes()) - others), "it runs", poll_secs=0.002)
        (pid,) = set(processes()) - others
        secs = wait_until(lambda: not is_alive(pid), "it ends", tick=measure, poll_secs=0.005)
        assert connection.getresponse().status == 200
    return used / secs


def _is_last(pid: int) -> bool:
    return os.getpriority(os.PRIO_PROCESS, pid) == 19


@pytest.fixture
def shared(gateway: GatewayServer, segments: SegmentWriter) -> GatewayServer:
    """Give a gateway over a dataset with a record."""
    segments.write(rows=1)
    return gateway
