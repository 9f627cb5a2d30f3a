"""Finds servers that take calls and do not answer: stopped, cut off or lost.

A call that has waited for 2 s has its connection probed by a health check of at most 3 s. An answer
shows that the server is alive, and the call waits on, however long it takes. Without an answer the
connection is closed, and its calls are sent again to another server. HTTP/2's own pings would do
the same, but servers refuse them more often than every 30 s.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from meta.client.connections import Connection, Endpoint, Probe
from meta.client.endpoints import MetaServers

PATIENCE_SECS = 2.0
PROBE_SECS, SILENCES_MAX = 3.0, 2
_TICK_SECS = 0.25
# While no call waits. One that begins meanwhile is looked at in time: this is below its patience.
_IDLE_TICK_SECS = 1.0
# The thread ends after such a time without a call.
_IDLE_SECS = 5.0


@dataclass(frozen=True, slots=True)
class _Waiting:
    since: float
    endpoint: Endpoint
    connection: Connection
    silences: int


class Liveness:
    """Watches the calls of one client, in a thread that runs while there are any."""

    def __init__(self, endpoints: MetaServers) -> None:
        self._endpoints = endpoints
        self._lock = threading.Lock()
        self._numbers = count()
        self._waiting: dict[int, _Waiting] = {}
        self._suspects: dict[Connection, Endpoint] = {}
        self._thread: threading.Thread | None = None

    def begin(self, endpoint: Endpoint, connection: Connection, silences: int = 0) -> int:
        """Watch a call that `silences` servers did not answer before; returns its number."""
        number = next(self._numbers)
        with self._lock:
            self._waiting[number] = _Waiting(
                time.monotonic(), endpoint, connection, min(silences, SILENCES_MAX)
            )
            self._run_thread()
        return number

    def end(self, number: int) -> None:
        """Stop watching a call."""
        with self._lock:
            self._waiting.pop(number, None)

    def stop(self) -> None:
        """Wait for the end of the thread, once the client is closed."""
        # A thread that another call begins is started before the lock is free.
        with self._lock:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(PROBE_SECS)

    def ask(self, endpoints: Sequence[Endpoint], secs: float) -> list[Probe]:
        """Ask servers for their health, all at once; a silent one is probed for longer."""
        connections = [(endpoint, endpoint.connection()) for endpoint in endpoints]
        probes = [connection.start_probe(secs) for _, connection in connections]
        for (endpoint, connection), probe in zip(connections, probes, strict=True):
            if probe.wait().is_silent:
                self.suspect(endpoint, connection)
            if probe.health is False:
                self._endpoints.failed(endpoint)
            elif probe.is_answered:
                endpoint.answered(connection)
        return probes

    def suspect(self, endpoint: Endpoint, connection: Connection) -> None:
        """Have a connection probed on which a call's deadline has passed."""
        with self._lock:
            self._suspects[connection] = endpoint
            self._run_thread()

    def _run_thread(self) -> None:
        if self._endpoints.closed.is_set():
            return
        # A process that was forked has the object, and not the thread.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._watch, name="meta-liveness", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        idle_since, tick_secs = time.monotonic(), _TICK_SECS
        while not self._endpoints.closed.wait(tick_secs):
            with self._lock:
                is_any = bool(self._waiting or self._suspects)
                tick_secs = _TICK_SECS if is_any else _IDLE_TICK_SECS
                if is_any:
                    idle_since = time.monotonic()
                elif time.monotonic() - idle_since > _IDLE_SECS:
                    self._thread = None
                    return
                due = self._due()
            self._probe(due)
            # The client may have been closed.
            with suppress(ValueError):
                self._move()
            self._endpoints.tidy()

    def _due(self) -> dict[Connection, tuple[Endpoint, int]]:
        """The connections on which nothing was heard while a call waited, and its silences."""
        before = time.monotonic() - PATIENCE_SECS
        due = {connection: (endpoint, 0) for connection, endpoint in self._suspects.items()}
        self._suspects.clear()
        for call in self._waiting.values():
            if max(call.since, call.connection.heard_at) < before:
                _, silences = due.get(call.connection, (call.endpoint, 0))
                due[call.connection] = (call.endpoint, max(silences, call.silences))
        return due

    def _probe(self, due: dict[Connection, tuple[Endpoint, int]]) -> None:
        # Each silence of a server doubles the time of its next probe: a link that a large reply
        # fills for seconds must not look dead again and again.
        probes = [
            (connection, endpoint, connection.start_probe(PROBE_SECS * 2**silences))
            for connection, (endpoint, silences) in due.items()
        ]
        for connection, endpoint, probe in probes:
            if probe.wait().is_answered:
                connection.heard_at = time.monotonic()
                continue
            self._endpoints.failed(endpoint)
            if probe.is_silent:
                endpoint.abandon(connection)

    def _move(self) -> None:
        """Go to another server that serves, once the stay with the present one is over."""
        candidate = self._endpoints.candidate()
        if candidate is None:
            return
        if candidate.connection().start_probe(PROBE_SECS).wait().health:
            candidate.failed_at = 0.0
            self._endpoints.prefer(candidate)
