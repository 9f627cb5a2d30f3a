"""Calls of a gateway that wait for Postgres beside its other calls, on a meta that is busy."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest

from meta import metrics
from meta.client import MetaClient
from meta.config import Settings
from meta.roles import Role
from meta.rpc import thread_shares
from meta.v1 import catalog_pb2
from segplane.gateway.queries.settings import QuerySettings
from tests.support.gateway.server import GatewayServer
from tests.support.meta.busy_database import locked_table, waiting_backends
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.waiting import wait_until

# A statement waits for longer than the test.
LONG_MS = 300_000
CALLERS = 3
ANSWERS = 50
# Those that are held up end after 30 s, with the deadline of their calls.
PROMPT_SECS = 20.0
LISTED = "v1/datasets?limit=5"


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    database = replace(
        meta_settings.database, lock_timeout_ms=LONG_MS, statement_timeout_ms=LONG_MS
    )
    with guarded(replace(meta_settings, database=database)) as guard:
        yield guard


@pytest.fixture
def gateway(guard: GuardedServer) -> Iterator[GatewayServer]:
    """Give a gateway all of whose callers are one subject of meta."""
    token = guard.token(Role.GATEWAY).plaintext_token
    queries = QuerySettings(concurrent=16, caller_concurrent=16)
    server = GatewayServer(guard.address, token, meta_auth_token=token, queries=queries)
    yield server
    server.close()


class Callers:
    """Callers of a gateway that ask again and again, and another subject that asks now and then."""

    def __init__(self, gateway: GatewayServer, other: MetaClient) -> None:
        self._gateway, self._other = gateway, other
        self._lock, self._end = threading.Lock(), threading.Event()
        self.answers: list[int] = []

    @contextmanager
    def asking(self) -> Iterator[None]:
        with ThreadPoolExecutor(CALLERS + 1) as threads:
            tasks = [threads.submit(self._list) for _ in range(CALLERS)]
            tasks.append(threads.submit(self._ask_meta))
            try:
                yield
            finally:
                self._end.set()
        for task in tasks:
            task.result()

    def _list(self) -> None:
        while not self._end.is_set():
            status = self._gateway.get(LISTED).status
            with self._lock:
                self.answers.append(status)

    def _ask_meta(self) -> None:
        while not self._end.wait(thread_shares.COUNT_PAUSE_SECS):
            self._other.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest())


def held_up() -> float:
    """Return how many calls had to wait for a thread of their subject's."""
    value: float = metrics.RESTRICTED_CALLS.labels("subject", "threads")._value.get()
    return value


@pytest.mark.long
def test_a_waiting_call_of_a_gateway_holds_up_no_others_of_a_busy_meta(
    guard: GuardedServer,
    gateway: GatewayServer,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The others are held to one thread, and it is the waiting call that has it."""
    # Also on a machine that gives this process little of its processors.
    monkeypatch.setattr(thread_shares, "BUSY_SECS", 0.01)
    for number in range(5):
        CatalogDriver(guard.admin).dataset(f"web{number}")
    with (
        guard.client(Role.READER, "the other") as other,
        ThreadPoolExecutor(1) as threads,
        locked_table(database_url, "views"),
    ):
        callers = Callers(gateway, other)
        with callers.asking():
            before = held_up()
            wait_until(lambda: held_up() > before, "the gateway uses more than its share")
            waiting = threads.submit(gateway.get, "v1/views/none")
            wait_until(lambda: waiting_backends(database_url) == 1, "a call waits")
            before, answered = held_up(), len(callers.answers)

            wait_until(
                lambda: len(callers.answers) >= answered + ANSWERS,
                "the others are answered",
                seconds=PROMPT_SECS,
            )
            assert not waiting.done()
            assert waiting_backends(database_url) == 1
            assert held_up() > before
    assert waiting.result().status == 404
    assert set(callers.answers) == {200}
