"""Transactions of tenants' callers: role and tenant from their first statement to their end."""

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import Context
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from meta import access
from meta.commits.group_commit import Committer
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import MetaError
from meta.process.exits import ConfigError
from meta.server.database_start import open_database
from meta.store.engine import caller_role, driver_statements
from meta.store.engine.call_scope import CallerLeft, CallScope
from meta.store.engine.pool import Conflict, Database, DatabaseSettings, Transaction
from tests.support.meta.database_roles import CALLERS
from tests.support.meta.two_tenants import add_other, caller_of, database_of

# Calls take turns on the connection, of which each is some three statements.
CALLS, CALLERS_AT_ONCE = 10_000, 3
_STATE = "SELECT current_user, coalesce(current_setting('segplane.tenant', true), '')"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Give a pool of one connection, so that all calls have the same."""
    with database_of(database_url, pool_size=1) as opened:
        yield opened


def login_of(database: Database) -> str:
    with database.read() as tx:
        return str(caller_role.taken(tx)[0])


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_tenants_transaction_has_role_and_tenant_until_its_end(
    database: Database, kind: str
) -> None:
    login = login_of(database)
    begin: Callable[[], Any] = getattr(database, kind)

    with caller_of(7), begin() as tx:
        inside = caller_role.taken(tx)
    with begin() as tx:
        afterwards = caller_role.taken(tx)

    assert inside == (CALLERS, "7")
    assert afterwards == (login, "")


def test_a_tenants_transaction_is_as_any_other_without_the_setting(database_url: str) -> None:
    with closing(Database(DatabaseSettings(database_url))) as plain, caller_of(7):
        login = login_of(plain)
        with plain.write() as tx:
            assert caller_role.taken(tx) == (login, "")


def test_the_servers_work_within_a_tenants_call_reaches_all(database: Database) -> None:
    login = login_of(database)
    of_server = Transactions(database, is_of_calls=False)

    with caller_of(7):
        assert of_server.read(caller_role.taken) == (login, "")
        assert of_server.write(caller_role.taken) == (login, "")
        assert access.current.get().scope.tenant_key == 7


def test_a_tenants_call_has_no_connection_without_a_transaction(database: Database) -> None:
    with caller_of(7), pytest.raises(AssertionError), database.single():
        pass


def test_calls_of_tenants_share_no_transaction() -> None:
    committer: Committer[int, int, None] = Committer(
        name="test",
        begin=nullcontext,
        keys=lambda number: (number,),
        run_batch=lambda _, numbers: numbers,
        run_alone=lambda number: number,
    )

    assert asyncio.run(committer.submit(1)) == 1
    with caller_of(0), pytest.raises(AssertionError):
        asyncio.run(committer.submit(2))


class Traffic:
    """Calls of an operator and of two tenants on one connection, some of which end early."""

    def __init__(self, database: Database, other: int) -> None:
        self.database, self.tenants = database, (None, 0, other)
        self.login = login_of(database)
        self.wrong: list[object] = []
        self.ends: dict[str, int] = {}
        self._lock = threading.Lock()
        self._killer = ThreadPoolExecutor(2)
        event.listen(database.engine, "checkin", self._check)

    def _check(self, connection: Any, _record: object) -> None:
        """Look at a connection as it returns to the pool."""
        if connection is None or connection.closed:
            return
        state = connection.execute(_STATE).fetchone()
        connection.rollback()
        if state != (self.login, ""):
            self.wrong.append(("returned", state))

    def call(self, number: int) -> None:
        """Make one call, which ends as its number says."""
        draw = random.Random(number)
        tenant_key, way = draw.choice(self.tenants), draw.choice(list(self._ways()))
        scope = CallScope.enter(lambda: None)
        kill: Any = None
        if draw.random() < 0.2:
            kill = self._killer.submit(threading.Timer(draw.random() * 0.005, scope.cancel).run)
        try:
            with caller_of(tenant_key):
                self._ways()[way](tenant_key, draw)
            end = way
        except (CallerLeft, Conflict, MetaError, DBAPIError) as error:
            end = type(error).__name__
        with self._lock:
            self.ends[end] = self.ends.get(end, 0) + 1
        if kill is not None:
            kill.result()

    def _ways(self) -> dict[str, Callable[[int | None, random.Random], None]]:
        return {
            "read": partial(self._transact, self.database.read),
            "write": partial(self._transact, self.database.write),
            "statement": self._fetch,
        }

    def _transact(
        self, begin: Callable[[], Any], tenant_key: int | None, draw: random.Random
    ) -> None:
        expected = (self.login, "") if tenant_key is None else (CALLERS, str(tenant_key))
        with begin() as tx:
            self._see(tx, expected)
            if draw.random() < 0.02:
                # Long enough for a cancellation, which opens a connection.
                tx.exec_driver_sql("SELECT pg_sleep(0.05)")
            if draw.random() < 0.1:
                tx.exec_driver_sql("SELECT 1 / 0")
            self._see(tx, expected)

    def _see(self, tx: Transaction, expected: tuple[str, str]) -> None:
        if (state := caller_role.taken(tx)) != expected:
            self.wrong.append((expected, state))

    def _fetch(self, _tenant_key: int | None, _draw: random.Random) -> None:
        state = driver_statements.fetch_row(self.database, _STATE.encode(), [])
        if tuple(state) != (self.login, ""):
            self.wrong.append(("statement", state))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_no_call_leaves_a_tenant_on_the_connection_however_it_ends(
    database: Database, database_url: str
) -> None:
    traffic = Traffic(database, add_other(database_url))

    with ThreadPoolExecutor(CALLERS_AT_ONCE) as threads:
        running = [threads.submit(Context().run, traffic.call, n) for n in range(CALLS)]
        for each in running:
            each.result()

    assert traffic.wrong == []
    assert sum(traffic.ends.values()) == CALLS
    # Not killed, killed before a statement, killed within one, and ended by an error of one.
    for end in ("read", "write", "statement", "CallerLeft", "StatementTimeout", "DataError"):
        assert traffic.ends.get(end, 0) > 0, traffic.ends


def refusal(settings: Settings, role: str) -> str:
    database = replace(settings.database, caller_role=role)
    settings = replace(settings, database=database, database_wait_secs=0.0)
    with pytest.raises(ConfigError) as refused:
        open_database(settings)
    return str(refused.value)


@pytest.mark.parametrize("role", ["Callers", "pg_callers", "none", "a-b", 'a"b', "x" * 64])
def test_a_name_that_would_need_quotes_is_refused(meta_settings: Settings, role: str) -> None:
    assert "META_DATABASE_CALLER_ROLE" in refusal(meta_settings, role)


@pytest.mark.database_owner
def test_a_role_that_policies_do_not_hold_for_is_refused(
    meta_settings: Settings, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute("CREATE ROLE exempt_callers BYPASSRLS")
        try:
            assert "BYPASSRLS" in refusal(meta_settings, "exempt_callers")
        finally:
            admin.execute("DROP OWNED BY exempt_callers; DROP ROLE exempt_callers")
