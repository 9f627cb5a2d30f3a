"""The log page over ten million records against the best SQL by hand on the same files.

CPU of the gateway and all of its processes, the preparation of those that replace the used
included; by hand, that of one DuckDB. Searches are by a frequent text, by a rare one, and by an
attribute. SQL by hand is one query with ORDER BY and LIMIT, or one with grouping sets.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import duckdb

from benchmarks.harness.gateway import BenchGateway, bench_gateway
from benchmarks.harness.processes import TreeClock
from benchmarks.harness.registering import save_files
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from benchmarks.harness.ten_million_logs import (
    END_NANOS,
    START_NANOS,
    TEXT,
    Files,
    ten_million_logs,
)
from meta.v1 import catalog_pb2
from segplane.gateway.console.sessions.codes import make_code
from segplane.gateway.management.times import text_of

# Made once: it takes three minutes and 1.1 GB.
FOLDER = Path("build/benchmarks/ten-million-logs").absolute()
ROUNDS, THREADS = 3, 2
ROWS_BAR, HISTOGRAM_BAR = 1.3, 1.5
_KEY = "benchmark-key-of-the-console"
_FACETS = (
    *("attributes.http.method", "attributes.thread.id", "attributes.user.id"),
    "resource_attributes.host.name",
)
_RANGE = {"from": text_of(START_NANOS), "to": text_of(END_NANOS)}


@dataclass(frozen=True, slots=True)
class Search:
    """A search as the console takes it, and as a condition of SQL by hand."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    condition: str


SEARCHES = (
    Search("all", (), "true"),
    Search("text", (("q", "upstream"),), "body ILIKE '%upstream%'"),
    Search("rare_text", (("q", TEXT),), f"body ILIKE '%{TEXT}%'"),
    Search(
        "attribute",
        (("only", '["attributes.http.method","POST"]'),),
        "json_extract_string(attributes, '$.\"http.method\"') = 'POST'",
    ),
    Search(
        "rare_attribute",
        (("only", '["attributes.user.id","u4711"]'),),
        "json_extract_string(attributes, '$.\"user.id\"') = 'u4711'",
    ),
)


def run() -> list[Result]:
    """Measure rows and histograms of each search."""
    files = ten_million_logs(FOLDER)
    results = []
    with served(files) as (gateway, _):
        browser = Browser(gateway)
        for search in SEARCHES:
            for part, statement, bar in (
                ("", _rows_by_hand(search), ROWS_BAR),
                ("/histogram", _histogram_by_hand(search), HISTOGRAM_BAR),
            ):
                address = _address(part, search)
                ours, first = _cpu(TreeClock(gateway.pid), partial(browser.load, address))
                theirs, _ = _cpu(time.process_time, partial(_by_hand, files, statement))
                print(f"  {search.name}{part}: {ours:.0f} ms, {theirs:.0f} by hand, {first}")
                results.append(
                    compare(
                        f"console_{'histogram' if part else 'rows'}_{search.name}",
                        ours,
                        theirs,
                        reference_name="the best SQL by hand",
                        unit="ms of CPU",
                        bar=bar,
                        higher_is_better=False,
                    )
                )
    return results


@contextmanager
def served(files: Files) -> Iterator[tuple[BenchGateway, Callable[[Files], None]]]:
    """Serve the segments as dataset `web`, with a console; gives a call that adds segments too."""
    # Beside the segments, which are linked.
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        objects = Path(folder)
        console = {"GATEWAY_CONSOLE": "true", "GATEWAY_CONSOLE_KEY": _KEY}
        with (
            bench_postgres() as postgres,
            bench_server(postgres.url, {"META_OBJECT_STORE_URL": objects.as_uri()}) as server,
            server.client() as client,
        ):
            request = catalog_pb2.CreateDatasetRequest(name="web")
            dataset = client.catalog.CreateDataset(request).id
            save_files(client, dataset, objects, files)
            with bench_gateway(server.address, console) as gateway:
                yield gateway, partial(save_files, client, dataset, objects)


class Browser:
    """A session of the console, by a one-time code."""

    def __init__(self, gateway: BenchGateway) -> None:
        self._gateway = gateway
        with closing(gateway.connect()) as connection:
            code = make_code(_KEY, gateway.port, time.time())
            connection.request("GET", f"/ui/login?code={code}")
            reply = connection.getresponse()
            assert reply.status == 303, reply.read()
            self.cookie = (reply.headers["set-cookie"] or "").partition(";")[0]

    def load(self, address: str) -> str:
        """Load a page; tell when its first rows and its last byte came, in milliseconds."""
        began = time.perf_counter()
        first, body = 0.0, b""
        # Between two pages the gateway may close a connection that is kept.
        with closing(self._gateway.connect()) as connection:
            connection.request("GET", address, headers={"Cookie": self.cookie})
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            while piece := reply.read1(65_536):
                body += piece
                if not first and b"data-row" in body:
                    first = time.perf_counter() - began
        assert b"notice-error" not in body, body
        whole = time.perf_counter() - began
        rows = body.count(b"data-row")
        return f"{rows} rows, the first after {1e3 * first:.0f} ms, the last {1e3 * whole:.0f} ms"


def _address(part: str, search: Search) -> str:
    pairs = [("dataset", "web"), *_RANGE.items(), *search.parameters]
    pairs += [("facets", facet) for facet in _FACETS] if part else []
    return f"/ui/logs{part}?{urlencode(pairs, quote_via=quote)}"


def _cpu(clock: Callable[[], float], call: Callable[[], object]) -> tuple[float, object]:
    """Return the least CPU of a call in milliseconds, and its last answer."""
    least, answer = float("inf"), None
    for _ in range(ROUNDS):
        began = clock()
        answer = call()
        # A process that replaces a used one is prepared after the answer.
        time.sleep(0.5)
        least = min(least, clock() - began)
    return 1e3 * least, answer


def _by_hand(files: Files, statement: str) -> None:
    # Newest first, as a person who looks for the newest would list them.
    paths = ", ".join(f"'{path}'" for path, _ in reversed(files))
    with duckdb.connect(config={"threads": THREADS}) as connection:
        connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        assert connection.execute(statement.replace("$files", f"[{paths}]")).fetchall()


def _where(search: Search) -> str:
    times = (f"make_timestamptz({nanos // 1_000})" for nanos in (START_NANOS, END_NANOS))
    start, end = times
    return f"signal = 'logs' AND timestamp >= {start} AND timestamp < {end} AND {search.condition}"


def _rows_by_hand(search: Search) -> str:
    return f"""
        SELECT timestamp, timestamp_nanos, severity_text, service_name, trace_id,
            left(body, 4097), left(attributes, 4097)
        FROM read_parquet($files) WHERE {_where(search)} ORDER BY timestamp DESC LIMIT 201
    """  # noqa: S608


def _histogram_by_hand(search: Search) -> str:
    bag = (
        "json_extract_string(attributes, ['$.\"http.method\"', '$.\"thread.id\"', '$.\"user.id\"'])"
    )
    return f"""
        SELECT bucket, severity, service_name, f[1] AS a, f[2] AS b, f[3] AS c, d, count(*)
        FROM (
            SELECT epoch_us(timestamp) // 900000000 AS bucket, severity_number AS severity,
                service_name, {bag} AS f,
                json_extract_string(resource_attributes, '$."host.name"') AS d
            FROM read_parquet($files) WHERE {_where(search)}
        )
        GROUP BY GROUPING SETS ((bucket, severity), (service_name), (f[1]), (f[2]), (f[3]), (d))
    """  # noqa: S608
