"""Runs two pieces of work on two sessions through every order of their statements.

Each statement, commit and rollback is a step. A thread stops before every step and waits for its
turn; a thread that Postgres makes wait for a lock loses its turn until the other lets go. Schedules
are explored depth first. Of schedules that differ only in the order of steps that do not touch each
other one is run (sleep sets), so each run is another course of events.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import psycopg
from sqlalchemy import Engine, event

from meta.store.engine import driver_statements
from tests.support.interleaving import steps
from tests.support.interleaving.steps import Step

Work = Callable[[], object]
STEP_SECS_MAX = 20.0
POLL_SECS = 0.002
_BLOCKED = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"


@dataclass
class _Worker:
    """One of the two threads: where it stands, and its turn."""

    name: str
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    # Changed under the scheduler's condition.
    is_waiting: bool = False
    is_done: bool = False
    following: Step | None = None
    transaction: list[Step] = field(default_factory=list)
    backend_pid: int = 0
    outcome: object = None


@dataclass(frozen=True)
class ScheduleOutcome:
    """Outcome of one schedule; an error is an outcome too."""

    schedule: str
    first: object
    second: object


@dataclass(frozen=True)
class _Branch:
    """Branch from an explored schedule; `asleep` has been tried first at its end."""

    prefix: str
    asleep: frozenset[str]


class Interleaver:
    """Explores schedules of two pieces of work over one engine."""

    def __init__(self, engine: Engine, admin_url: str, *, is_exhaustive: bool = False) -> None:
        self._engine = engine
        # Every order of all steps, also of those that cannot matter: for the tool's own test.
        self._never_asleep = frozenset("ab" if is_exhaustive else "")
        self._admin_url = admin_url
        self._changed = threading.Condition()
        self._workers: dict[int, _Worker] = {}

    def explore(self, make: Callable[[], tuple[Work, Work]]) -> Iterator[ScheduleOutcome]:
        """Yield the outcome of every schedule; `make` prepares fresh state for each."""
        pending = [_Branch("", frozenset())]
        with self._gated(), psycopg.connect(self._admin_url, autocommit=True) as admin:
            while pending:
                outcome, branches = self._run(*make(), pending.pop(), admin)
                pending += branches
                yield outcome

    @contextmanager
    def _gated(self) -> Iterator[None]:
        def before(conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
            self._pause(conn, statement)

        def end(conn: Any) -> None:
            self._pause(conn, None)

        def fetch_row(database: Any, statement: bytes, values: Any) -> Any:
            # Below SQLAlchemy, which tells nobody; a read by itself, whose end nobody sees.
            self._wait_turn(steps.statement(statement.decode()))
            return own_fetch_row(database, statement, values)

        own_fetch_row = driver_statements.fetch_row
        event.listen(self._engine, "before_cursor_execute", before)
        event.listen(self._engine, "commit", end)
        event.listen(self._engine, "rollback", end)
        try:
            with patch.object(driver_statements, "fetch_row", fetch_row):
                yield
        finally:
            event.remove(self._engine, "before_cursor_execute", before)
            event.remove(self._engine, "commit", end)
            event.remove(self._engine, "rollback", end)

    def _pause(self, conn: Any, statement: str | None) -> None:
        """Stop before a statement, or before the end of a transaction, until it is our turn."""
        worker = self._workers.get(threading.get_ident())
        if worker is None:
            return
        worker.backend_pid = conn.connection.dbapi_connection.info.backend_pid
        if statement is None:
            following = steps.end(worker.transaction)
            worker.transaction = []
        else:
            following = steps.statement(statement)
            worker.transaction.append(following)
        self._wait_turn(following)

    def _wait_turn(self, following: Step) -> None:
        """Stop before a step until it is our turn."""
        worker = self._workers.get(threading.get_ident())
        if worker is None:
            return
        with self._changed:
            worker.following = following
            worker.is_waiting = True
            self._changed.notify_all()
        worker.turn.acquire()

    def _run(
        self, first: Work, second: Work, branch: _Branch, admin: psycopg.Connection[Any]
    ) -> tuple[ScheduleOutcome, list[_Branch]]:
        pair = {"a": _Worker("a"), "b": _Worker("b")}
        threads = [
            threading.Thread(target=self._body, args=(pair[name], work), daemon=True)
            for name, work in (("a", first), ("b", second))
        ]
        for thread in threads:
            thread.start()
        schedule, branches = self._schedule(pair, branch, admin)
        for thread in threads:
            thread.join(STEP_SECS_MAX)
            assert not thread.is_alive(), f"stuck after schedule {schedule}"
        self._workers.clear()
        return ScheduleOutcome(schedule, pair["a"].outcome, pair["b"].outcome), branches

    def _body(self, worker: _Worker, work: Work) -> None:
        self._workers[threading.get_ident()] = worker
        try:
            worker.outcome = work()
        except Exception as error:  # noqa: BLE001 - kept as the outcome
            worker.outcome = error
        with self._changed:
            worker.is_done = True
            self._changed.notify_all()

    def _schedule(
        self, pair: dict[str, _Worker], branch: _Branch, admin: psycopg.Connection[Any]
    ) -> tuple[str, list[_Branch]]:
        """Give turns as the branch says, then to the first that can; note what else could."""
        taken, branches, asleep = "", list[_Branch](), set(branch.asleep)
        while True:
            self._settle(pair, admin)
            ready = [name for name, worker in pair.items() if worker.is_waiting]
            if not ready:
                return taken, branches
            is_replay = len(taken) < len(branch.prefix)
            awake = ready if is_replay else [name for name in ready if name not in asleep]
            # With nobody awake the rest was seen before; it is only run to its end.
            choice = (awake or ready)[0]
            if is_replay and branch.prefix[len(taken)] in ready:
                choice = branch.prefix[len(taken)]
            if not is_replay:
                branches += [
                    _Branch(taken + other, frozenset({*asleep, choice} - self._never_asleep))
                    for other in awake
                    if other != choice
                ]
            taken += choice
            if len(taken) >= len(branch.prefix):
                asleep = {name for name in asleep if not _wakes(pair[name], pair[choice])}
            with self._changed:
                pair[choice].is_waiting = False
            pair[choice].turn.release()

    def _settle(self, pair: dict[str, _Worker], admin: psycopg.Connection[Any]) -> None:
        """Wait until each thread stands before a step, has ended, or waits for a lock."""
        deadline = time.monotonic() + STEP_SECS_MAX
        while True:
            with self._changed:
                moving = [w for w in pair.values() if not (w.is_waiting or w.is_done)]
                if not moving:
                    return
                self._changed.wait(POLL_SECS)
                moving = [w for w in pair.values() if not (w.is_waiting or w.is_done)]
            others_can_go = any(w.is_waiting for w in pair.values())
            if moving and others_can_go and all(_is_blocked(admin, w) for w in moving):
                return
            assert time.monotonic() < deadline, "neither thread moves"


def _wakes(sleeper: _Worker, mover: _Worker) -> bool:
    """True if what the one does now could change what the other would have done."""
    if sleeper is mover or sleeper.following is None or mover.following is None:
        return True
    return sleeper.following.conflicts_with(mover.following)


def _is_blocked(admin: psycopg.Connection[Any], worker: _Worker) -> bool:
    if not worker.backend_pid:
        return False
    row = admin.execute(_BLOCKED, (worker.backend_pid,)).fetchone()
    return bool(row and row[0])
