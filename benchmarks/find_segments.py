"""FindSegments over a short and a long history: first page and drain, at every age.

The cost of a call over its SQL is measured with the rows of its segments, fetched by psycopg.
BENCH_SEGMENTS makes the long history shorter, for a quick look.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg
from sqlalchemy import event, text

from benchmarks.harness import call_figures, message_lookup, segment_rows
from benchmarks.harness.call_figures import CallFigures
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.results import Result, compare
from benchmarks.harness.segment_rows import DAY_NANOS, NEWEST_NANOS, SEGMENTS_PER_DAY, LoadedDataset
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.harness.timing import interleaved
from meta.client import MetaClient
from meta.process.environment import environment
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.lookup import lookup
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.common_pb2 import TimeRange
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest, FindSegmentsResponse

DATASETS = 200
SHORT = 100_000
LONG = 10_000_000
PAGE = 1_000
WINDOWS = {"1h": DAY_NANOS // 24, "1d": DAY_NANOS, "7d": 7 * DAY_NANOS}
AGES = ("newest", "middle", "oldest")
FIRST_PAGE_ROUNDS = 15
DRAIN_ROUNDS = 3
SQL_ROUNDS = 40
ROUNDS = 3
FIND = "/meta.v1.SegmentLookupService/FindSegments"
CALLERS, LOAD_SECS = (1, 4, 16, 64), 3.0
_SESSION = text("SELECT name, setting FROM pg_settings WHERE source = 'client'")


@dataclass(frozen=True, slots=True)
class _History:
    """A served database with `count` segments."""

    count: int
    url: str
    server: BenchServer
    client: MetaClient
    datasets: Sequence[LoadedDataset]

    def window(self, length_nanos: int, age: str) -> TimeRange:
        """A window at an end or in the middle of the history."""
        span = self.count * DAY_NANOS // SEGMENTS_PER_DAY
        room = span - length_nanos
        start = NEWEST_NANOS - span + {"oldest": 0, "middle": room // 2, "newest": room}[age]
        return TimeRange(start_time=start, end_time=start + length_nanos)


@dataclass(frozen=True, slots=True)
class _Caught:
    """A statement as the server sends it, and the settings of its session."""

    statement: bytes
    values: Mapping[str, object]
    session: Sequence[tuple[str, str]]


def run() -> list[Result]:
    """Load both histories, then ask each in turn."""
    count = environment("BENCH_").integer("SEGMENTS", LONG, low=SHORT)
    # Loads need no WAL then, and nothing else is written here.
    settings = {"wal_level": "minimal", "max_wal_senders": "0", "autovacuum": "off"}
    with ExitStack() as stack:
        postgres = stack.enter_context(bench_postgres(settings))
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE long")
        urls = {SHORT: postgres.url, count: postgres.url_of("long")}
        short, long = (stack.enter_context(_history(url, n)) for n, url in urls.items())
        assert postgres.pid is not None
        return [
            *_growth(short, long),
            *_over_sql(long),
            *_under_load(short, postgres.pid),
            _over_messages(short, postgres.pid),
        ]


@contextmanager
def _history(url: str, count: int) -> Iterator[_History]:
    with bench_server(url) as server, server.client() as client:
        for number in range(DATASETS - 1):
            client.catalog.CreateDataset(CreateDatasetRequest(name=f"bench-{number:03}"))
        began = time.monotonic()
        datasets = segment_rows.load(url, count)
        print(f"  {count} segments loaded in {time.monotonic() - began:.0f} s", flush=True)
        yield _History(count, url, server, client, datasets)


def _growth(short: _History, long: _History) -> Iterator[Result]:
    for window, length_nanos in WINDOWS.items():
        for age in AGES:
            requests = [
                FindSegmentsRequest(time_range=history.window(length_nanos, age), limit=PAGE)
                for history in (short, long)
            ]
            yield _compared(f"first_page_{window}_{age}", short, long, requests, is_drain=False)
            yield _compared(f"drain_{window}_{age}", short, long, requests, is_drain=True)


def _compared(
    name: str,
    short: _History,
    long: _History,
    requests: Sequence[FindSegmentsRequest],
    *,
    is_drain: bool,
) -> Result:
    found = [len(_drain(h.client, r)) for h, r in zip((short, long), requests, strict=True)]
    read = _drain if is_drain else _first_page
    times = interleaved(
        [
            lambda: read(short.client, requests[0]),
            lambda: read(long.client, requests[1]),
        ],
        DRAIN_ROUNDS if is_drain else FIRST_PAGE_ROUNDS,
    )
    return compare(
        f"find_segments_{name}",
        times[1],
        times[0],
        reference_name=f"the same in {short.count:,} segments, {found[0]} found",
        unit=f"ms in {long.count:,} segments, {found[1]} found",
        bar=0 if is_drain else 2.0,
        higher_is_better=False,
    )


def _over_sql(history: _History) -> Iterator[Result]:
    """One full page of the largest dataset, against its fields by psycopg."""
    dataset = history.datasets[0]
    window = history.window(history.count * DAY_NANOS // SEGMENTS_PER_DAY, "newest")
    request = FindSegmentsRequest(time_range=window, limit=PAGE, dataset_names=[dataset.name])
    assert len(_first_page(history.client, request)) == PAGE
    with _bare_statement(history, window, dataset) as fields:
        assert fields() == PAGE + 1
        ours, reference = interleaved(
            [lambda: _first_page(history.client, request), fields], rounds=SQL_ROUNDS
        )
    yield compare(
        "find_segments_page_over_sql",
        ours,
        reference,
        reference_name="the same SQL, fields through psycopg, rows fetched",
        unit=f"ms a page of {PAGE:,} segments",
        bar=1.4,
        higher_is_better=False,
    )


def _under_load(history: _History, postgres_pid: int) -> Iterator[Result]:
    """An hour of all datasets for one to many callers, beside the empty RPC."""
    window = history.window(WINDOWS["1h"], "newest")
    request = FindSegmentsRequest(time_range=window).SerializeToString()
    address = history.server.address
    for callers in CALLERS:
        loads = (
            CallLoad(address, FIND, [[request]] * callers, LOAD_SECS),
            CallLoad(address, call_figures.ECHO, [[call_figures.EMPTY]] * callers, LOAD_SECS),
        )
        (find, replies), (echo, _) = (
            call_figures.measure(history.server, postgres_pid, load) for load in loads
        )
        found = len(FindSegmentsResponse.FromString(replies[0]).segments)
        yield compare(
            f"find_segments_{callers}_callers",
            find.per_second,
            echo.per_second,
            reference_name="empty RPC on the same server",
            unit=f"calls/s, {found} segments of {history.count:,} each, p50 {find.p50_ms:.3g} ms,"
            f" p99 {find.p99_ms:.3g} ms, CPU a call: meta {find.meta_cpu_ms:.3g} ms, Postgres"
            f" {find.postgres_cpu_ms:.3g} ms",
        )


def _over_messages(history: _History, postgres_pid: int) -> Result:
    """The hour of many callers, against a server that makes a message of each segment."""
    window = history.window(WINDOWS["1h"], "newest")
    request = FindSegmentsRequest(time_range=window).SerializeToString()
    module = "benchmarks.harness.message_lookup"
    with bench_server(history.url, module=module) as former:
        servers = (history.server, former)
        figures: list[list[CallFigures]] = [[], []]
        replies = [b"", b""]
        for number in range(ROUNDS + 1):
            for place, server in enumerate(servers):
                load = CallLoad(server.address, FIND, [[request]] * CALLERS[-1], LOAD_SECS)
                measured, (replies[place], *_) = call_figures.measure(server, postgres_pid, load)
                # The first calls of a server are slower.
                if number:
                    figures[place].append(measured)
    new, old = map(call_figures.median, figures)
    answers = [FindSegmentsResponse.FromString(reply) for reply in replies]
    assert answers[0].segments == answers[1].segments
    return compare(
        "find_segments_over_messages",
        new.per_second,
        old.per_second,
        reference_name="a message object for every segment, as in the release before",
        unit=f"calls/s of {CALLERS[-1]} callers, {len(answers[0].segments)} segments each, CPU a"
        f" call: meta {new.meta_cpu_ms:.3g} against {old.meta_cpu_ms:.3g} ms, Postgres"
        f" {new.postgres_cpu_ms:.3g} against {old.postgres_cpu_ms:.3g} ms",
        bar=3.0,
    )


@contextmanager
def _bare_statement(
    history: _History, window: TimeRange, dataset: LoadedDataset
) -> Iterator[Callable[[], int]]:
    """Run the statement that reads the fields of a page, recorded once, with psycopg alone."""
    caught = _caught(history, window, dataset)
    with psycopg.connect(history.url, autocommit=True, prepare_threshold=0) as connection:
        for name, value in caught.session:
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        yield lambda: len(connection.execute(caught.statement, caught.values).fetchall())


def _caught(history: _History, window: TimeRange, dataset: LoadedDataset) -> _Caught:
    version = history.count
    query = message_lookup.Query(window.start_time, window.end_time - 1, version)
    caught: list[tuple[bytes, Mapping[str, object]]] = []

    def catch(_c: object, _k: object, statement: str, values: Mapping[str, object], *_: object):  # type: ignore[no-untyped-def]
        caught.append((statement.encode(), values))

    database = Database(DatabaseSettings(history.url, pool_size=2))
    with database.read() as tx:
        session = [(str(row[0]), str(row[1])) for row in tx.execute(_SESSION)]
        visible = lookup.visible_datasets(tx, [dataset.name], version)
        event.listen(tx, "before_cursor_execute", catch)
        message_lookup.find(tx, query, list(visible), PAGE + 1)
    database.close()
    return _Caught(*caught[0], session)


def _first_page(client: MetaClient, request: FindSegmentsRequest) -> list[str]:
    return [s.id for s in client.segment_lookup.FindSegments(request).segments]


def _drain(client: MetaClient, request: FindSegmentsRequest) -> list[str]:
    found: list[str] = []
    page = FindSegmentsRequest()
    page.CopyFrom(request)
    while True:
        reply = client.segment_lookup.FindSegments(page)
        found += [s.id for s in reply.segments]
        if not reply.page.HasField("next_cursor"):
            return found
        page.cursor = reply.page.next_cursor
