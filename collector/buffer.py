"""Buffer of validated exports that wait for a flush, batched by size and time.

A batch is made up when it is due, from the exports of all tokens in turn: a token with a long
backlog does not delay the exports of the others.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from collector.fair_queue import FairQueue
from collector.memory_budget import Charge
from collector.refusal import Refusal
from segments.otlp.content import PayloadFacts
from segments.signals import Signal

# Memory of an export beside its payload.
OVERHEAD_BYTES = 512
# Tokens in one batch: each routes to at most three datasets, and a commit names at most 1,000.
BATCH_TOKENS_MAX = 300


@dataclass(slots=True, eq=False)
class PendingExport:
    """One export between arrival and answer; the outcome None means acknowledged."""

    token_secret: str = field(repr=False)
    token_id: str
    signal: Signal
    payload: bytes = field(repr=False)
    digest: bytes
    facts: PayloadFacts
    received_at: int
    outcome: "asyncio.Future[Refusal | None]"
    charge: Charge | None = None
    is_batched: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes that it counts for."""
        return len(self.payload) + OVERHEAD_BYTES

    def resolve(self, outcome: Refusal | None) -> None:
        """Set the outcome of this export; the first one stands."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def release(self) -> None:
        """Discharge its memory; its outcome is known and its bytes are written."""
        if self.charge is not None:
            self.charge.release()


@dataclass(slots=True)
class Buffer:
    """Exports in order of arrival per token; used on one event loop only."""

    batch_size_bytes_max: int = 8 * 1024 * 1024
    flush_timeout_secs: float = 0.2
    clock: Callable[[], float] = time.monotonic
    _waiting: FairQueue[PendingExport] = field(default_factory=FairQueue)
    _waiting_bytes: int = 0
    _arrivals: deque[tuple[float, PendingExport]] = field(default_factory=deque)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _is_draining: bool = False

    def add(self, export: PendingExport) -> None:
        """Add an export; the caller has charged its memory."""
        is_first = not self._waiting
        self._waiting.push(export.token_id, export, export.size_bytes)
        self._waiting_bytes += export.size_bytes
        self._arrivals.append((self.clock(), export))
        if is_first or self._is_full():
            self._changed.set()

    def drain(self) -> None:
        """Return batches at once from now on, whatever their size and age."""
        self._is_draining = True
        self._changed.set()

    async def next_batch(self) -> list[PendingExport]:
        """Wait until a batch is full or old enough; empty once drained."""
        while True:
            wait_secs = self._due_in_secs()
            is_due = self._is_draining or (wait_secs is not None and wait_secs <= 0)
            if is_due or self._is_full():
                return self._batch()
            await self._change(wait_secs)

    def _is_full(self) -> bool:
        is_large = self._waiting_bytes >= self.batch_size_bytes_max
        return is_large or self._waiting.num_tokens >= BATCH_TOKENS_MAX

    def _due_in_secs(self) -> float | None:
        """Seconds until the oldest waiting export is due; None if none waits."""
        while self._arrivals and self._arrivals[0][1].is_batched:
            self._arrivals.popleft()
        if not self._arrivals:
            return None
        return self._arrivals[0][0] + self.flush_timeout_secs - self.clock()

    def _batch(self) -> list[PendingExport]:
        batch: list[PendingExport] = []
        token_ids: set[str] = set()
        size_bytes = 0
        while self._waiting and size_bytes < self.batch_size_bytes_max:
            token_ids.add(self._waiting.next_token())
            if len(token_ids) > BATCH_TOKENS_MAX:
                break
            export = self._waiting.pop()
            export.is_batched = True
            batch.append(export)
            size_bytes += export.size_bytes
        self._waiting_bytes -= size_bytes
        return batch

    async def _change(self, wait_secs: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(wait_secs):
                await self._changed.wait()
        except TimeoutError:
            return
