"""GET /v1/datasets/NAME/preview: the newest records, to callers who may read the dataset."""

import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from meta.config import Settings
from meta.roles import Role
from segplane.read import open_dataset
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.segments import EPOCH, Writer, segment_of
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

SEGMENTS = 1_000
CPU_SECS_MAX = 0.3
_SECOND = 10**9


def path_of(name: str, limit: object = None) -> str:
    return f"v1/datasets/{name}/preview" + ("" if limit is None else f"?limit={limit}")


def times_of(answer: Answer) -> list[tuple[str, int]]:
    assert answer.status == 200, answer.body
    return [(row["timestamp"], row.get("timestamp_nanos", 0)) for row in answer.json]


def test_a_preview_has_the_newest_records_with_the_values_of_queries(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    for day in (3, 1, 4, 2):
        segments.write(day, rows=8, days=2, signals=("logs", "traces"))
    segments.write(0, rows=4, format_version=1)

    rows = gateway.get(path_of("web", 20)).json
    default = gateway.get(path_of("web")).json

    with open_dataset("web", meta_address=meta_server.address) as web:
        each = [web.of_signal(signal).newest(20).to_pylist() for signal in web.signals]
    newest = [record for records in each for record in records]
    queried = gateway.query("web | top 40 by timestamp desc").json
    by_span = {row["span_id"]: row for row in queried if row["span_id"]}
    assert [row["timestamp_nanos"] for row in rows] == [row["timestamp_nanos"] for row in newest]
    assert [set(row) for row in rows] == [
        {name for name, value in row.items() if value is not None} for row in newest
    ]
    for row in rows:
        if row.get("span_id") in by_span:
            same = by_span[row["span_id"]]
            assert {n: v for n, v in row.items() if n in same and n != "duration"} == {
                n: v for n, v in same.items() if v is not None and n in row and n != "duration"
            }
    assert len(rows) > 20
    assert default == [*rows[:10], *rows[len(each[0]) : len(each[0]) + 10]]


def test_the_limit_of_a_preview_is_one_to_a_thousand(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=600)
    segments.write(rows=600, day=1)

    assert len(times_of(gateway.get(path_of("web", 1)))) == 1
    assert len(times_of(gateway.get(path_of("web", 1_000)))) == 1_000
    for limit in ("0", "1001", "-1", "1.5", "", "%C2%B2", "99999999999"):
        refused = gateway.get(path_of("web", limit))
        assert (refused.status, "expected 1 to 1,000" in refused.message) == (400, True)
    unknown = gateway.get(path_of("web") + "?after=x")
    assert (unknown.status, "send limit" in unknown.message) == (400, True)
    assert gateway.post(path_of("web"), {}).status == 405


def test_an_empty_dataset_has_an_empty_preview(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    CatalogDriver(meta_server.client).dataset("idle")

    assert gateway.get(path_of("idle")).json == []


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        yield guard


@pytest.fixture
def guarded_gateway(guard: GuardedServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    server = GatewayServer(
        guard.address, token, pool=query_pool, meta_auth_token=token, auth_token="of-the-gateway"
    )
    yield server
    server.close()


def test_a_dataset_that_the_caller_may_not_read_does_not_exist(
    guard: GuardedServer, guarded_gateway: GatewayServer
) -> None:
    catalog = CatalogDriver(guard.admin)
    catalog.dataset("mine")
    catalog.dataset("theirs")

    def asked(name: str, role: Role, *datasets: str) -> Answer:
        token = guard.token(role, f"{role} {name}"[:99], dataset_names=datasets).plaintext_token
        return guarded_gateway.get(path_of(name), Authorization=f"Bearer {token}")

    assert asked("mine", Role.READER, "mine").json == []
    assert asked("mine", Role.READER).json == []
    for role, scope in ((Role.READER, ("mine",)), (Role.INGEST, ()), (Role.NURSERY, ())):
        theirs, none = asked("theirs", role, *scope), asked("thairs", role, *scope)
        assert (theirs.status, none.status) == (404, 404)
        assert theirs.message == "there is no dataset 'theirs'"
        # Nothing but the name differs.
        assert theirs.body.replace(b"theirs", b"thairs") == none.body
    for name in ("mine", "thairs", "no%20name", "x" * 300):
        assert guarded_gateway.get(path_of(name)).status == 401
    assert asked("no%20name", Role.READER).status == 404
    assert asked("x" * 300, Role.READER).status == 404


@pytest.mark.long
def test_a_preview_of_a_thousand_segments_opens_the_newest_within_its_cpu_time(
    gateway: GatewayServer, segments: SegmentWriter, query_pool: SharedPool
) -> None:
    """Most of the segments have no object, so that a preview that opened them would fail."""
    older = [
        segment_of(segments.dataset, EPOCH - (n + 2) * _SECOND, EPOCH - n * _SECOND, events=1_000)
        for n in range(1, SEGMENTS - 3)
    ]
    for start in range(0, len(older), 250):
        Writer(segments.client).save(*older[start : start + 250])
    # Each goes on through the days of the next ones.
    for day in range(4):
        segments.write(day, rows=1_000, days=4)
    expected = sorted((time for _, time in segments.rows), reverse=True)[:10]
    assert len(gateway.get(path_of("web")).json) == 10

    spent = []
    for _ in range(5):
        before = _cpu_secs(query_pool)
        rows = gateway.get(path_of("web")).json
        spent.append(_cpu_secs(query_pool) - before)

    assert [_nanos(row) for row in rows] == expected
    assert min(spent) <= CPU_SECS_MAX, spent


def _cpu_secs(pool: SharedPool) -> float:
    """Return the CPU time of this process, which holds meta and the gateway, and of queries."""
    wait_until(pool.rests, "the query's process has ended, and another waits")
    launcher = pool.launcher_pid
    fields = Path(f"/proc/{launcher}/stat").read_text().rpartition(")")[2].split()
    return time.process_time() + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _nanos(row: dict[str, Any]) -> int:
    seconds = datetime.fromisoformat(row["timestamp"]).timestamp()
    micros = round(seconds * 10**6)
    return micros * 1_000 + int(row["timestamp_nanos"])
