"""Lookups of a good reader beside a hostile principal: their 99th percentile.

The hostile principal has a token of one role and as many calls in flight as one subject may have;
each kind of its calls is measured by itself. Rounds alone and beside it take turns on one server.
The hostile sender gives way to other processes (nice 19), as it has its own machine.
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from benchmarks.harness import call_load, segment_rows
from benchmarks.harness.call_load import CallLoad, CallRates, CallSecurity
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.segment_rows import DAY_NANOS, NEWEST_NANOS
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.roles import Role
from meta.store.access import token_secrets
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.common_pb2 import TimeRange
from meta.v1.operations_pb2 import CreateAccessTokenRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest, GetSegmentsByIdsRequest

P99_RATIO_MAX = 2.0
ROUNDS, SECS, HOSTILE_SECS = 3, 4.0, 3600.0
READERS = 4
NICENESS, START_SECS_MAX = 19, 30.0
SEGMENTS, DATASETS = 20_000, 10
ADMIN_TOKEN = "the admin token of this benchmark"
FIND = "/meta.v1.SegmentLookupService/FindSegments"
GET_BY_IDS = "/meta.v1.SegmentLookupService/GetSegmentsByIds"
STATE = "/meta.v1.OperationsService/GetServerState"
AUDIT = "/meta.v1.OperationsService/ListAuditRecords"


@dataclass(frozen=True, slots=True)
class HostileCalls:
    """Calls of one kind by a reader, sent over and over, so many at once."""

    method: str
    request: bytes
    in_flight: int
    has_token: bool = True
    # CPU time of the server after which the attack has begun.
    start_cpu_secs: float = 1.5


_WINDOW = TimeRange(start_time=NEWEST_NANOS - DAY_NANOS // 24, end_time=NEWEST_NANOS)
_GOOD = FindSegmentsRequest(time_range=_WINDOW).SerializeToString()
_IDS = GetSegmentsByIdsRequest(segment_ids=[str(uuid4()) for _ in range(1_000)])
KINDS = {
    "small": HostileCalls(STATE, b"", 256),
    "denied": HostileCalls(AUDIT, b"", 256),
    # Refused by their headers, and few a second: they cost the server little.
    "unknown_token": HostileCalls(STATE, b"", 256, has_token=False, start_cpu_secs=0.3),
    "malformed": HostileCalls(FIND, b"\xff" * 100, 256),
    "damaged": HostileCalls(GET_BY_IDS, b"\x0a\x01x" * 1_000_000 + b"\xff", 64),
    "many_ids": HostileCalls(GET_BY_IDS, _IDS.SerializeToString(), 256),
    "widest": HostileCalls(FIND, FindSegmentsRequest(limit=10_000).SerializeToString(), 256),
    "excess": HostileCalls(STATE, b"", 500),
}


def run() -> list[Result]:
    """Measure each kind in turn."""
    settings = {"META_AUTH_TOKEN": ADMIN_TOKEN, "META_REQUIRE_AUTHENTICATION": "true"}
    with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
        tokens = _prepare(server)
        return [_measure(server, tokens, name) for name in KINDS]


def _prepare(server: BenchServer) -> list[str]:
    """Load segments; returns tokens of readers, the first of the hostile one."""
    with server.client() as admin:
        for number in range(DATASETS):
            admin.catalog.CreateDataset(CreateDatasetRequest(name=f"bench-{number:03}"))
        segment_rows.load(server.database_url, SEGMENTS)
        return [
            admin.operations.CreateAccessToken(
                CreateAccessTokenRequest(subject=f"reader-{number}", role=Role.READER.value)
            ).plaintext_token
            for number in range(1 + READERS)
        ]


def _measure(server: BenchServer, tokens: Sequence[str], name: str) -> Result:
    kind = KINDS[name]
    token = tokens[0] if kind.has_token else _unknown_token()
    hostile = CallLoad(
        server.address,
        kind.method,
        [[kind.request]] * kind.in_flight,
        HOSTILE_SECS,
        security=CallSecurity(auth_tokens=[token]),
        may_be_refused=True,
    )
    good = CallLoad(
        server.address,
        FIND,
        [[_GOOD]] * READERS,
        SECS,
        security=CallSecurity(auth_tokens=tokens[1:]),
    )
    alone, beside = list[CallRates](), list[CallRates]()
    for _ in range(ROUNDS):
        alone.append(call_load.run(good))
        with _under_attack(server, hostile, kind.start_cpu_secs):
            beside.append(call_load.run(good))
    ours, reference = (statistics.median(one.p99_ms for one in runs) for runs in (beside, alone))
    rates = [statistics.median(one.per_second for one in runs) for runs in (beside, alone)]
    return compare(
        f"hostile_principal_{name}_p99",
        ours,
        reference,
        reference_name="the same readers alone",
        unit=f"ms, p99 of FindSegments beside {kind.in_flight} calls in flight;"
        f" calls/s {rates[0]:.4g} against {rates[1]:.4g}",
        bar=P99_RATIO_MAX,
        higher_is_better=False,
    )


@contextmanager
def _under_attack(server: BenchServer, load: CallLoad, start_cpu_secs: float) -> Iterator[None]:
    """Wait until the server has worked for the hostile sender for a while."""
    began = cpu_seconds(server.pid)
    with call_load.sending(load, NICENESS):
        deadline = time.monotonic() + START_SECS_MAX
        while cpu_seconds(server.pid) < began + start_cpu_secs:
            assert time.monotonic() < deadline, "the hostile sender did not start"
            time.sleep(0.01)
        yield


def _unknown_token() -> str:
    return token_secrets.new_plaintext(token_secrets.ACCESS_PREFIX)
