"""Bounded buffer of exports that wait for a flush, batched by size and time.

An export is counted from `add` until `release`, which follows its outcome, so the bounds cover
exports that are being written as well as those that wait.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from collector.refusal import Refusal
from meta.metrics import BUFFERED_BYTES
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

    @property
    def size_bytes(self) -> int:
        """Bytes that it counts for in the buffer."""
        return len(self.payload) + OVERHEAD_BYTES

    def resolve(self, outcome: Refusal | None) -> None:
        """Set the outcome of this export; the first one stands."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)


@dataclass(slots=True)
class _Batch:
    exports: list[PendingExport] = field(default_factory=list)
    size_bytes: int = 0
    first_at: float = 0.0
    token_ids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Buffer:
    """Batches of exports in order of arrival; used on one event loop only."""

    size_bytes_max: int
    token_size_bytes_max: int
    batch_size_bytes_max: int = 8 * 1024 * 1024
    flush_timeout_secs: float = 0.2
    clock: Callable[[], float] = time.monotonic
    size_bytes: int = 0
    _token_sizes: Counter[str] = field(default_factory=Counter)
    _full: deque[_Batch] = field(default_factory=deque)
    _open: _Batch = field(default_factory=_Batch)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _is_draining: bool = False

    def has_room(self, token_id: str, size_bytes: int) -> bool:
        """Whether an export of this size may be added; one may always enter an empty buffer."""
        total = self.size_bytes + size_bytes
        of_token = self._token_sizes[token_id] + size_bytes
        if total <= self.size_bytes_max and of_token <= self.token_size_bytes_max:
            return True
        return self.size_bytes == 0

    def is_half_full(self) -> bool:
        """Whether more than half of the buffer is in use."""
        return self.size_bytes > self.size_bytes_max // 2

    def add(self, export: PendingExport) -> None:
        """Add an export; the caller has checked `has_room`."""
        self._count(export, 1)
        batch = self._open
        if not batch.exports:
            batch.first_at = self.clock()
            self._changed.set()
        batch.exports.append(export)
        batch.size_bytes += export.size_bytes
        batch.token_ids.add(export.token_id)
        is_full = batch.size_bytes >= self.batch_size_bytes_max
        if is_full or len(batch.token_ids) >= BATCH_TOKENS_MAX:
            self._full.append(batch)
            self._open = _Batch()
            self._changed.set()

    def release(self, exports: Sequence[PendingExport]) -> None:
        """Stop counting exports whose outcome is known."""
        for export in exports:
            self._count(export, -1)

    def drain(self) -> None:
        """Return batches at once from now on, whatever their size and age."""
        self._is_draining = True
        self._changed.set()

    async def next_batch(self) -> list[PendingExport]:
        """Wait until a batch is full or old enough; empty once drained."""
        while True:
            if self._full:
                return self._full.popleft().exports
            wait_secs: float | None = None
            if self._open.exports:
                wait_secs = self._open.first_at + self.flush_timeout_secs - self.clock()
            if self._is_draining or (wait_secs is not None and wait_secs <= 0):
                batch, self._open = self._open, _Batch()
                return batch.exports
            await self._change(wait_secs)

    async def _change(self, wait_secs: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(wait_secs):
                await self._changed.wait()
        except TimeoutError:
            return

    def _count(self, export: PendingExport, sign: int) -> None:
        size_bytes = sign * export.size_bytes
        self.size_bytes += size_bytes
        self._token_sizes[export.token_id] += size_bytes
        if not self._token_sizes[export.token_id]:
            del self._token_sizes[export.token_id]
        BUFFERED_BYTES.set(self.size_bytes)
