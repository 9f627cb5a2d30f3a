"""RegisterMergedSegment and RegisterMergedSegments as callers get them, through gRPC.

Every figure counts calls that were answered, replies included. CPU is that of meta's process.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from benchmarks.harness import call_figures, registrations, replay
from benchmarks.harness.call_figures import ECHO, EMPTY, CallFigures
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.refused_calls import refused_calls
from benchmarks.harness.registrations import Entry
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.v1.operations_pb2 import RegisterMergedSegmentsRequest, RegisterMergedSegmentsResponse

SINGLE = "/meta.v1.NurseryService/RegisterMergedSegment"
BULK = "/meta.v1.OperationsService/RegisterMergedSegments"
CALLERS = (1, 4, 16, 64)
CALLERS_MAX = CALLERS[-1]
ROUNDS = 3
ECHO_SECS = 3.0
# Registrations of each caller in a round.
CALLS_OF_FEW, CALLS_OF_MANY = 200, 80
BACKLOG = 1_000
BULK_CALLERS, BULK_CALLS, BULK_SIZE = 4, 4, 250


@dataclass(frozen=True, slots=True)
class _Scene:
    """A server and its database."""

    server: BenchServer
    postgres_pid: int

    def echo(self, callers: int) -> CallFigures:
        """The empty RPC: a health check."""
        return self._run(CallLoad(self.server.address, ECHO, [[EMPTY]] * callers, ECHO_SECS))

    def single(self, callers: int, *, omit_streams: bool = True) -> CallFigures:
        """Registrations one by one, each caller for its own dataset."""
        calls = CALLS_OF_MANY if callers == CALLERS_MAX else CALLS_OF_FEW
        made = registrations.entries(self.server.database_url, callers, BACKLOG)
        requests = registrations.requests(made, range(calls), omit_streams=omit_streams)
        return self._run(CallLoad(self.server.address, SINGLE, requests))

    def beside_refused(self) -> CallFigures:
        """Registrations of many callers, beside one that lost a race and one of a dataset gone."""
        (loser,) = registrations.entries(self.server.database_url, 1, 1)
        gone = Entry(loser.stream_id, str(uuid4()))
        refused = [
            registrations.request(entry, offset).SerializeToString()
            for entry, offset in ((loser, 5), (gone, 0))
        ]
        with refused_calls(self.server.address, SINGLE, refused):
            return self.single(CALLERS_MAX)

    def bulk(self) -> CallFigures:
        """Many registrations in each call, each caller for its own datasets."""
        sent = []
        for _ in range(BULK_CALLERS):
            made = registrations.entries(self.server.database_url, BULK_SIZE, 10 * BULK_CALLS)
            sent.append([bulk_request(made, offset) for offset in range(BULK_CALLS)])
        return self._run(CallLoad(self.server.address, BULK, sent), per_call=BULK_SIZE)

    def _run(self, load: CallLoad, per_call: int = 1) -> CallFigures:
        figures, replies = call_figures.measure(self.server, self.postgres_pid, load, per_call)
        if load.method == BULK:
            _check(replies)
        return figures


def run() -> list[Result]:
    """All kinds of calls in turn; medians."""
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        assert postgres.pid is not None
        scene = _Scene(server, postgres.pid)
        kinds: dict[str, Callable[[], CallFigures]] = {
            **{f"echo_{n}": partial(scene.echo, n) for n in CALLERS},
            **{f"single_{n}": partial(scene.single, n) for n in CALLERS},
            "published": partial(scene.single, CALLERS_MAX, omit_streams=False),
            "beside_refused": scene.beside_refused,
            "bulk": scene.bulk,
        }
        # The first calls of a server are slower: connections, plans.
        scene.single(4)
        rounds = [{name: measure() for name, measure in kinds.items()} for _ in range(ROUNDS)]
        replayed = replay.registrations_ms(postgres.url, CALLS_OF_FEW)
        settings = {"META_PROCESSES": "2"}
        with bench_server(postgres.url, settings) as two:
            of_two = _Scene(two, postgres.pid)
            of_two.single(CALLERS_MAX)
            shared = call_figures.median([of_two.single(CALLERS_MAX) for _ in range(ROUNDS)])
    figures = {name: call_figures.median([one[name] for one in rounds]) for name in kinds}
    return [*_rates(figures), *_judged(figures, replayed), _of_two(shared, figures)]


def _rates(figures: Mapping[str, CallFigures]) -> Iterator[Result]:
    """Every number of callers beside the empty RPC; one bar."""
    for callers in CALLERS:
        own, echo = figures[f"single_{callers}"], figures[f"echo_{callers}"]
        yield compare(
            f"register_merged_segment_{callers}_callers",
            own.per_second,
            echo.per_second,
            reference_name=f"empty RPC on the same server, p99 {echo.p99_ms:.3g} ms",
            unit=f"calls/s, p50 {own.p50_ms:.3g} ms, p99 {own.p99_ms:.3g} ms, CPU a call: meta"
            f" {own.meta_cpu_ms:.3g} ms, Postgres {own.postgres_cpu_ms:.3g} ms",
            bar=0.55 if callers == CALLERS_MAX else 0.0,
        )


def _judged(figures: Mapping[str, CallFigures], replayed_ms: float) -> Iterator[Result]:
    single, echo = figures[f"single_{CALLERS_MAX}"], figures[f"echo_{CALLERS_MAX}"]
    published, bulk = figures["published"], figures["bulk"]
    yield compare(
        "register_merged_segment_cpu",
        single.meta_cpu_ms,
        echo.meta_cpu_ms,
        reference_name="empty RPC on the same server",
        unit=f"ms of meta's CPU a call at {CALLERS_MAX} callers",
        bar=2.5,
        higher_is_better=False,
    )
    yield compare(
        "register_merged_segment_latency",
        figures["single_1"].p50_ms,
        replayed_ms,
        reference_name="the same transaction by psycopg",
        unit="ms, one caller",
        bar=2.5,
        higher_is_better=False,
    )
    yield compare(
        "register_merged_segment_with_streams_per_second",
        published.per_second,
        echo.per_second,
        reference_name="empty RPC on the same server",
        unit=f"calls/s at {CALLERS_MAX} callers that want the streams, meta's CPU a call"
        f" {published.meta_cpu_ms:.3g} ms",
    )
    beside = figures["beside_refused"]
    yield compare(
        "register_merged_segment_cpu_beside_refused",
        beside.meta_cpu_ms + beside.postgres_cpu_ms,
        single.meta_cpu_ms + single.postgres_cpu_ms,
        reference_name=f"without two callers that are refused, {single.per_second:.3g} calls/s",
        unit=f"ms of CPU of meta and Postgres a call at {CALLERS_MAX} callers,"
        f" {beside.per_second:.3g} calls/s",
        bar=1.25,
        higher_is_better=False,
    )
    yield compare(
        "register_merged_segments_per_second",
        bulk.per_second,
        single.per_second,
        reference_name=f"single calls of {CALLERS_MAX} callers",
        unit=f"registrations/s in calls of {BULK_SIZE}, CPU a registration: meta"
        f" {bulk.meta_cpu_ms:.3g} ms, Postgres {bulk.postgres_cpu_ms:.3g} ms",
        bar=5.0,
    )


def _of_two(shared: CallFigures, figures: Mapping[str, CallFigures]) -> Result:
    alone = figures[f"single_{CALLERS_MAX}"]
    return compare(
        "register_merged_segment_two_processes",
        shared.per_second,
        alone.per_second,
        reference_name=f"one process, {alone.meta_cpu_ms:.3g} ms of CPU a call",
        unit=f"calls/s at {CALLERS_MAX} callers, CPU a call: meta {shared.meta_cpu_ms:.3g} ms,"
        f" Postgres {shared.postgres_cpu_ms:.3g} ms",
    )


def bulk_request(made: Sequence[Entry], offset: int) -> bytes:
    """The registration of one baby segment of each entry in one call, serialized."""
    items = [registrations.request(entry, offset) for entry in made]
    return RegisterMergedSegmentsRequest(registrations=items).SerializeToString()


def _check(replies: Iterable[bytes]) -> None:
    for reply in replies:
        results = RegisterMergedSegmentsResponse.FromString(reply).results
        assert len(results) == BULK_SIZE
        assert not any(result.HasField("refusal") for result in results)
