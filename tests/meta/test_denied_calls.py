"""Denied calls are counted by minute, host and reason, in a bounded number of rows."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import RoleRefused, Unauthenticated
from meta.roles import Role
from meta.rpc.denials import KEYS_MAX, OTHERS, SAVE_SECS, Denials
from meta.store.access import denied_calls
from meta.store.engine.pool import Database
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

LIST = catalog_pb2.ListDatasetsRequest()


def rows_of(client: MetaClient, **fields: Any) -> list[tuple[str, str, int]]:
    request = pb.ListDeniedCallsRequest(**fields)
    rows = client.operations.ListDeniedCalls(request).rows
    return [(row.host, row.reason, row.calls) for row in rows]


def deny(guard: GuardedServer, calls: int) -> None:
    """Make calls without a credential, and one that the role may not make."""
    with MetaClient(guard.address) as nobody:
        for _ in range(calls):
            with pytest.raises(Unauthenticated):
                nobody.catalog.ListDatasets(LIST)
    with guard.client(Role.NURSERY) as nursery, pytest.raises(RoleRefused):
        nursery.operations.ListDeniedCalls(pb.ListDeniedCallsRequest())


def test_denied_calls_are_listed_by_minute_host_and_reason(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        deny(guard, 7)
        guard.running.loop.run(guard.running.pipeline.denials.save())
        deny(guard, 2)
        guard.running.loop.run(guard.running.pipeline.denials.save())
        found = rows_of(guard.admin)
        for field, value in (("host", "192.0.2.1"), ("reason", "X"), ("since_nanos", 2**62)):
            assert rows_of(guard.admin, **{field: value}) == [], field
        by_reason = rows_of(guard.admin, reason="UNAUTHENTICATED", host="127.0.0.1", since_nanos=1)
        (last,) = guard.admin.operations.ListDeniedCalls(
            pb.ListDeniedCallsRequest(limit=1, reason="UNAUTHENTICATED")
        ).rows
        older = rows_of(guard.admin, before_id=last.id, reason="UNAUTHENTICATED")

    # Two rows of a reason where a minute has ended between the two saves.
    assert sum(calls for _, reason, calls in found if reason == "UNAUTHENTICATED") == 9
    assert sum(calls for _, reason, calls in found if reason == "ROLE_REFUSED") == 2
    assert {host for host, _, _ in found} == {"127.0.0.1"}
    assert sum(calls for *_, calls in by_reason) == 9
    assert sum(calls for *_, calls in older) == 9 - last.calls
    assert last.minute.endswith(":00+00:00")


@pytest.mark.long
def test_denials_are_saved_within_seconds_and_when_the_server_stops(
    meta_settings: Settings,
) -> None:
    with guarded(meta_settings) as guard:
        deny(guard, 1)
        wait_until(lambda: len(rows_of(guard.admin)) > 0, "a save", seconds=60)
        before = sum(calls for *_, calls in rows_of(guard.admin))
        deny(guard, 1)
    with guarded(meta_settings) as guard:
        assert sum(calls for *_, calls in rows_of(guard.admin)) == before + 2


def test_the_table_keeps_a_bounded_number_of_rows(meta_server: MetaServer) -> None:
    database, most = meta_server.running.database, denied_calls.ROWS_MAX
    _fill(database, most)
    assert _held(database) == most

    with database.write() as tx:
        denied_calls.add(tx, {("b", "X"): 2, ("a", "X"): 1})
    assert _held(database) == most
    with database.write() as tx:
        denied_calls.add(tx, {("a", "X"): 1})

    assert _held(database) == most
    # In a new minute the last one is its own row.
    newest = rows_of(meta_server.client, limit=3)
    assert sum(calls for host, _, calls in newest if host in {"a", "b"}) == 4


def test_hosts_beyond_the_bound_are_saved_together() -> None:
    saves, timer = list[Mapping[tuple[str, str], int]](), list[Callable[[], None]]()
    denials = Denials(lambda secs, call: timer.append(call) if secs == SAVE_SECS else None)
    denials.store = saves.append

    for n in range(KEYS_MAX + 9):
        denials.note(f"ipv4:10.0.{n // 250}.{n % 250}:1", "X")

    assert len(timer) == 1
    assert len(denials._unsaved) == KEYS_MAX + 1
    assert denials._unsaved[OTHERS, "X"] == 9


def _fill(database: Database, rows: int) -> None:
    with database.write() as tx:
        tx.execute(
            text(
                "INSERT INTO denied_calls (minute, host, reason, calls)"
                " SELECT '2020-01-01', n, 'X', 1 FROM generate_series(1, :rows) n"
            ),
            {"rows": rows},
        )


def _held(database: Database) -> int:
    with database.read() as tx:
        return int(tx.execute(text("SELECT count(*) FROM denied_calls")).scalar_one())
