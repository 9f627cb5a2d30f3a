"""Answers to queries over HTTP: the least of them, and a dashboard, through a real gateway.

`print 1` reads nothing, so its time is that of the gateway and of the query's process. CPU is that
of the gateway and all of its processes, the preparation of those that replace the used included. A
dashboard asks 20 questions about 115 MB at once, against the sum of the same SQL in one DuckDB.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

from benchmarks.harness.gateway import BenchGateway, bench_gateway
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.waiting import wait_until
from benchmarks.kql_queries import CORPUS, THREADS, web
from meta.client import MetaClient
from segplane.query.engine import QueryLimits, opened_query
from segplane.query.plan import QueryPlan
from segplane.query.runs import define_views, plan
from segplane.query.sources import QueryPlace

QUERIES, PANELS, ROUNDS = 60, 20, 5
WALL_MS_MAX, CPU_MS_MAX = 20.0, 60.0
_REST_SECS = 0.1
JSON = {"Content-Type": "application/json"}


def run() -> list[Result]:
    """Measure `print 1`, then the dashboard."""
    with web() as (server, client), bench_gateway(server.address) as gateway:
        _ask(gateway, "print 1")
        return [*_least(gateway), _dashboard(gateway, client, server.address)]


def _ask(gateway: BenchGateway, text: str) -> bytes:
    connection = gateway.connect()
    try:
        connection.request("POST", "/v1/query", json.dumps({"query": text}), JSON)
        reply = connection.getresponse()
        body = reply.read()
        assert reply.status == 200, body
        return body
    finally:
        connection.close()


def _least(gateway: BenchGateway) -> list[Result]:
    times = []
    cpu_before = _settled_cpu(gateway)
    for _ in range(QUERIES):
        began = time.perf_counter()
        _ask(gateway, "print 1")
        times.append(1e3 * (time.perf_counter() - began))
        # The next one meets processes that wait, as it does where people ask.
        time.sleep(_REST_SECS)
    cpu_ms = 1e3 * (_settled_cpu(gateway) - cpu_before) / QUERIES
    bars = (
        ("query_print_wall", min(times), WALL_MS_MAX, "ms, the best"),
        ("query_print_cpu", cpu_ms, CPU_MS_MAX, "ms of CPU"),
    )
    return [
        compare(
            name,
            ours,
            bar,
            reference_name=f"{bar:g} ms",
            unit=unit,
            bar=1.0,
            higher_is_better=False,
        )
        for name, ours, bar, unit in bars
    ]


def _settled_cpu(gateway: BenchGateway) -> float:
    """Return the CPU seconds of the gateway's processes, once those under way have ended."""
    seen = [-1.0, cpu_seconds(gateway.pid)]

    def rests() -> bool:
        seen.append(cpu_seconds(gateway.pid))
        return seen[-1] == seen[-2]

    wait_until(rests, "the gateway rests", seconds=60, poll_secs=0.5)
    return seen[-1]


def _dashboard(gateway: BenchGateway, client: MetaClient, address: str) -> Result:
    panels = [CORPUS[n % len(CORPUS)] for n in range(PANELS)]

    def over_http() -> None:
        with ThreadPoolExecutor(PANELS) as pool:
            list(pool.map(partial(_ask, gateway), panels))

    with ExitStack() as stack:
        plans = [plan(client, text, None, datetime.now(UTC)) for text in panels]
        calls = [_opened(stack, planned, QueryPlace(address)) for planned in plans]

        def by_hand() -> None:
            for call in calls:
                call()

        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(_wall_ms(over_http))
            theirs.append(_wall_ms(by_hand))
    return compare(
        "query_dashboard",
        min(ours),
        min(theirs),
        reference_name=f"the sum of its {PANELS} queries in DuckDB",
        unit="ms",
        bar=2.0,
        higher_is_better=False,
    )


def _opened(stack: ExitStack, planned: QueryPlan, place: QueryPlace) -> Callable[[], object]:
    limits = QueryLimits(threads=THREADS)
    opened = opened_query(planned, place, limits, prepare=define_views(planned))
    query = stack.enter_context(opened)
    return lambda: query.reader().read_all()


def _wall_ms(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - began)
