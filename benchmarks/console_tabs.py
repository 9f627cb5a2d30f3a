"""Latency of `/v1/query` beside twenty open tabs of the console.

The tabs are of one browser: five live views in one event stream, and fifteen pages about the
installation, which load again as their pages do. Every two seconds a segment is added, which the
live views read. One caller asks a query after the other. A minute with the tabs and one without
them make a pair; judged is the median of the ratios of p99.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from threading import Event, Thread
from urllib.parse import quote, urlencode

from benchmarks.console_logs import FOLDER, Browser, served
from benchmarks.harness.gateway import BenchGateway
from benchmarks.harness.results import Result, compare
from benchmarks.harness.ten_million_logs import START_NANOS, STEP_NANOS, ten_million_logs
from meta.process.environment import environment
from segplane.gateway.console.operate.shared_reads import REFRESH_SECS
from segplane.gateway.management.times import text_of

# BENCH_TABS_PAIRS has the number of pairs.
_PAIRS, ROUND_SECS, BAR = 10, 60.0, 1.5
LIVE_TABS, PAGE_TABS = 5, 15
_ADDING_SECS = 2.0
_PAGES = ("pipeline", "streams", "merges", "deletion", "dataset?dataset=web")
_HEADERS = {"Content-Type": "application/json"}
_HOURS = (text_of(START_NANOS), text_of(START_NANOS + 12 * STEP_NANOS))
_QUERY = f"""
    web | where timestamp >= datetime({_HOURS[0]}) and timestamp < datetime({_HOURS[1]})
    | summarize count() by service_name, severity_text
"""


def run() -> list[Result]:
    """Measure the latency of queries with and without the tabs."""
    count = environment("BENCH_TABS_").integer("PAIRS", _PAIRS, low=1)
    files = ten_million_logs(FOLDER)
    with served(files) as (gateway, add), _repeated(lambda: add(files[-1:]), _ADDING_SECS):
        browser = Browser(gateway)
        _round(gateway, ROUND_SECS / 6)
        pairs = [_pair(gateway, browser, number) for number in range(count)]
    ratio = statistics.median(with_tabs / without for with_tabs, without in pairs)
    without_ms = 1e3 * statistics.median(without for _, without in pairs)
    return [
        compare(
            "console_twenty_tabs",
            ratio,
            1.0,
            reference_name=f"no tabs, p99 {without_ms:.0f} ms",
            unit=f"median ratio of p99, {count} pairs of {ROUND_SECS:.0f} s",
            bar=BAR,
            higher_is_better=False,
        )
    ]


def _pair(gateway: BenchGateway, browser: Browser, number: int) -> tuple[float, float]:
    """Return p99 in seconds with the tabs and without them."""
    p99: dict[bool, float] = {}
    for has_tabs in (True, False) if number % 2 else (False, True):
        if has_tabs:
            with _tabs(gateway, browser):
                p99[has_tabs] = _round(gateway, ROUND_SECS)
        else:
            p99[has_tabs] = _round(gateway, ROUND_SECS)
    print(
        f"  p99 {1e3 * p99[True]:.0f} ms with the tabs, {1e3 * p99[False]:.0f} without", flush=True
    )
    return p99[True], p99[False]


def _round(gateway: BenchGateway, secs: float) -> float:
    """Ask one query after the other; return p99 of their seconds."""
    body, times = json.dumps({"query": _QUERY}), []
    end = time.monotonic() + secs
    with closing(gateway.connect()) as connection:
        while time.monotonic() < end:
            began = time.perf_counter()
            connection.request("POST", "/v1/query", body, _HEADERS)
            reply = connection.getresponse()
            answer = reply.read()
            assert reply.status == 200, answer
            times.append(time.perf_counter() - began)
    return sorted(times)[max(0, len(times) * 99 // 100 - 1)]


@contextmanager
def _tabs(gateway: BenchGateway, browser: Browser) -> Iterator[None]:
    """Keep twenty tabs open; all of their pages have answered before."""
    addresses = [f"/ui/{_PAGES[number % len(_PAGES)]}" for number in range(PAGE_TABS)]
    for address in addresses:
        browser.load(address)
    period = REFRESH_SECS / PAGE_TABS
    turns = iter(range(1_000_000))
    with _live_views(gateway, browser) as events:
        with _repeated(lambda: browser.load(addresses[next(turns) % PAGE_TABS]), period):
            yield
        assert events, "the live views had no event"


@contextmanager
def _live_views(gateway: BenchGateway, browser: Browser) -> Iterator[list[bytes]]:
    """Hold an event stream of the live tabs; gives the lines of its events as they come."""
    view = urlencode({"dataset": "web", "q": "upstream"})
    query = urlencode([("view", view)] * LIVE_TABS, quote_via=quote)
    events: list[bytes] = []
    connection: HTTPConnection = gateway.connect()
    connection.request("GET", f"/ui/live/events?{query}", headers={"Cookie": browser.cookie})
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()

    def read() -> None:
        while line := reply.readline():
            if line.startswith(b"data:"):
                events.append(line[:80])

    reader = Thread(target=read)
    reader.start()
    try:
        yield events
    finally:
        # The reader's read ends with the connection.
        assert connection.sock is None or connection.sock.shutdown(2) is None
        reader.join()
        connection.close()


@contextmanager
def _repeated(act: Callable[[], object], period_secs: float) -> Iterator[None]:
    """Act once a period in a thread, until the block ends; raises what an act raised."""
    ended = Event()

    def work() -> None:
        while not ended.wait(period_secs):
            act()

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            yield
        finally:
            ended.set()
        working.result()
