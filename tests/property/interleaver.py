"""Runs two pieces of work on two sessions through every order of their statements.

Each statement (and each commit) is a step. A thread stops before every step and waits for its turn;
a thread that Postgres makes wait for a lock loses its turn until the other lets go. All schedules
are explored depth first, so `runs` is the number of distinct interleavings.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy import Engine, event

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
    backend_pid: int = 0
    outcome: object = None


@dataclass(frozen=True)
class Outcome:
    """What one schedule ended in; an error is an outcome too."""

    schedule: str
    first: object
    second: object


class Interleaver:
    """Explores schedules of two pieces of work over one engine."""

    def __init__(self, engine: Engine, admin_url: str) -> None:
        self._engine = engine
        self._admin_url = admin_url
        self._changed = threading.Condition()
        self._workers: dict[int, _Worker] = {}

    def explore(self, make: Callable[[], tuple[Work, Work]]) -> Iterator[Outcome]:
        """Yield the outcome of every schedule; `make` prepares fresh state for each."""
        pending: list[str] = [""]
        with self._gated(), psycopg.connect(self._admin_url, autocommit=True) as admin:
            while pending:
                prefix = pending.pop()
                outcome, branches = self._run(*make(), prefix, admin)
                pending += branches
                yield outcome

    @contextmanager
    def _gated(self) -> Iterator[None]:
        def before(conn: Any, *_: Any) -> None:
            self._pause(conn.connection.dbapi_connection)

        def commit(conn: Any) -> None:
            self._pause(conn.connection.dbapi_connection)

        event.listen(self._engine, "before_cursor_execute", before)
        event.listen(self._engine, "commit", commit)
        try:
            yield
        finally:
            event.remove(self._engine, "before_cursor_execute", before)
            event.remove(self._engine, "commit", commit)

    def _pause(self, connection: psycopg.Connection[Any]) -> None:
        worker = self._workers.get(threading.get_ident())
        if worker is None:
            return
        with self._changed:
            worker.backend_pid = connection.info.backend_pid
            worker.is_waiting = True
            self._changed.notify_all()
        worker.turn.acquire()

    def _run(
        self, first: Work, second: Work, prefix: str, admin: psycopg.Connection[Any]
    ) -> tuple[Outcome, list[str]]:
        pair = {"a": _Worker("a"), "b": _Worker("b")}
        threads = [
            threading.Thread(target=self._body, args=(pair[name], work))
            for name, work in (("a", first), ("b", second))
        ]
        for thread in threads:
            thread.start()
        schedule, branches = self._schedule(pair, prefix, admin)
        for thread in threads:
            thread.join(STEP_SECS_MAX)
            assert not thread.is_alive(), f"stuck after schedule {schedule}"
        self._workers.clear()
        return Outcome(schedule, pair["a"].outcome, pair["b"].outcome), branches

    def _body(self, worker: _Worker, work: Work) -> None:
        self._workers[threading.get_ident()] = worker
        try:
            worker.outcome = work()
        except Exception as error:
            worker.outcome = error
        with self._changed:
            worker.is_done = True
            self._changed.notify_all()

    def _schedule(
        self, pair: dict[str, _Worker], prefix: str, admin: psycopg.Connection[Any]
    ) -> tuple[str, list[str]]:
        """Give turns: first as `prefix` says, then to the first that can; note what else could."""
        taken, branches = "", list[str]()
        while True:
            self._settle(pair, admin)
            ready = [name for name, worker in pair.items() if worker.is_waiting]
            if not ready:
                return taken, branches
            choice = prefix[len(taken)] if len(taken) < len(prefix) else ready[0]
            if choice not in ready:
                choice = ready[0]
            if len(taken) >= len(prefix):
                branches += [taken + other for other in ready if other != choice]
            taken += choice
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


def _is_blocked(admin: psycopg.Connection[Any], worker: _Worker) -> bool:
    if not worker.backend_pid:
        return False
    row = admin.execute(_BLOCKED, (worker.backend_pid,)).fetchone()
    return bool(row and row[0])
