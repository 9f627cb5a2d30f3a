"""Buffer of validated exports until a flush, and the memory of exports from their first byte.

A batch is made up when it is due by size, records or age, from the exports of all tokens in turn: a
token with a long backlog does not delay the exports of the others.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from collector.fair_queue import FairQueue, Sender
from collector.refusal import Refusal, over_limit, unavailable
from meta.metrics import BUFFER_LIMIT_BYTES, BUFFERED_BYTES
from segments.otlp.content import PayloadFacts
from segments.signals import Signal

# Long enough for bodies under way to arrive, on a busy machine too; a store or a meta that is slow
# takes longer.
ROOM_WAIT_SECS = 2.0
# Memory of an export in addition to its payload.
OVERHEAD_BYTES = 512
# Tokens in one batch: each routes to at most three datasets, and a commit names at most 1,000.
BATCH_TOKENS_MAX = 300
# A batch with so many records is written at once: a nursery decodes a record to several times its
# bytes on the wire, so small ones fill its memory before their bytes do.
BATCH_RECORDS_MAX = 100_000


@dataclass(slots=True)
class MemoryBudget:
    """Bytes charged in total, per token and per tenant; used on one event loop only.

    One charge may always enter an empty budget, whatever its size. Metrics show the latest budget.
    """

    size_bytes_max: int
    token_size_bytes_max: int
    size_bytes: int = 0
    # By the id of a token or a tenant.
    sizes: Counter[str] = field(default_factory=Counter)
    _waiters: "deque[_Waiter]" = field(default_factory=deque)

    def __post_init__(self) -> None:
        # Read when it is asked for: every export changes it several times.
        BUFFERED_BYTES.set_function(lambda: self.size_bytes)
        BUFFER_LIMIT_BYTES.set(self.size_bytes_max)

    def open(self, token_id: str, token_size_bytes_max: int | None = None) -> "Charge":
        """Open a charge of 0 bytes; a token may have its own limit."""
        return Charge(self, token_id, token_size_bytes_max or self.token_size_bytes_max)

    def change(self, holders: Iterable[str], size_bytes: int) -> None:
        """Charge (or, if negative, discharge) bytes."""
        self.size_bytes += size_bytes
        for holder in holders:
            self.sizes[holder] += size_bytes
            if not self.sizes[holder]:
                del self.sizes[holder]
        if size_bytes < 0 and self._waiters:
            self._admit_waiters()

    @property
    def is_waited_for(self) -> bool:
        """True if charges wait for room."""
        return bool(self._waiters)

    async def wait_for_room(self, charge: "Charge", size_bytes: int) -> None:
        """Charge bytes once there is room, in order of arrival as far as limits allow."""
        waiter = _Waiter(charge, size_bytes, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        self._admit_waiters()
        try:
            await waiter.admitted
        finally:
            # Bytes that were discharged since it was cancelled have removed it already.
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _admit_waiters(self) -> None:
        """Admit every waiter that has room; one whose token or tenant is full holds up no other."""
        waiting: deque[_Waiter] = deque()
        while self._waiters:
            waiter = self._waiters.popleft()
            if waiter.admitted.done():
                continue
            if waiter.charge.has_room(waiter.size_bytes):
                waiter.charge.set(waiter.charge.size_bytes + waiter.size_bytes)
                waiter.admitted.set_result(None)
            else:
                waiting.append(waiter)
        self._waiters = waiting


@dataclass(slots=True, eq=False)
class Charge:
    """Bytes that one export has charged to its token, and to its tenant; "" = none."""

    budget: MemoryBudget
    token_id: str
    token_size_bytes_max: int
    tenant_id: str = ""
    tenant_size_bytes_max: int = 0
    size_bytes: int = 0

    def has_room(self, size_bytes: int) -> bool:
        """Whether so many more bytes may be charged."""
        charged_bytes = self.budget.size_bytes
        is_free = not charged_bytes or charged_bytes + size_bytes <= self.budget.size_bytes_max
        return is_free and not self._full_holder(size_bytes)

    def grow_to(self, size_bytes: int) -> None:
        """Charge up to a size at once; raises Refused, with a time to retry, without room."""
        more_bytes = size_bytes - self.size_bytes
        if more_bytes <= 0:
            return
        if holder := self._full_holder(more_bytes):
            raise over_limit("memory", f"{holder} has too many bytes in progress")
        if not self.has_room(more_bytes):
            raise unavailable("collector's buffer is full")
        self.set(size_bytes)

    def set(self, size_bytes: int) -> None:
        """Charge exactly so many bytes, which the caller knows to be there."""
        change_bytes = size_bytes - self.size_bytes
        self.size_bytes = size_bytes
        if change_bytes:
            holders = (self.token_id, self.tenant_id) if self.tenant_id else (self.token_id,)
            self.budget.change(holders, change_bytes)

    async def reserve(self, size_bytes: int) -> None:
        """Charge more bytes once there is room; raises Refused if that takes too long."""
        if not self.budget.is_waited_for and self.has_room(size_bytes):
            self.set(self.size_bytes + size_bytes)
            return
        try:
            async with asyncio.timeout(ROOM_WAIT_SECS):
                await self.budget.wait_for_room(self, size_bytes)
        except TimeoutError:
            self.grow_to(self.size_bytes + size_bytes)

    def take_over(self) -> "Charge":
        """Return a charge of these bytes, of which this one is free then."""
        taken = Charge(
            self.budget,
            self.token_id,
            self.token_size_bytes_max,
            self.tenant_id,
            self.tenant_size_bytes_max,
            self.size_bytes,
        )
        self.size_bytes = 0
        return taken

    def release(self) -> None:
        """Discharge all bytes; safe to call twice."""
        self.set(0)

    def _full_holder(self, size_bytes: int) -> str:
        """The holder that has no room for so many more bytes; "" = both have."""
        sizes = self.budget.sizes
        held_bytes = sizes.get(self.token_id, 0)
        if held_bytes and held_bytes + size_bytes > self.token_size_bytes_max:
            return "ingest token"
        if not self.tenant_id:
            return ""
        held_bytes = sizes.get(self.tenant_id, 0)
        is_full = held_bytes and held_bytes + size_bytes > self.tenant_size_bytes_max
        return "tenant" if is_full else ""


@dataclass(slots=True, eq=False)
class _Waiter:
    charge: Charge
    size_bytes: int
    admitted: "asyncio.Future[None]"


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
    tenant_id: str = ""

    @property
    def sender(self) -> Sender:
        """Its token and tenant in fair queues."""
        return Sender(self.token_id, self.tenant_id)

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
    """Exports in order of arrival per token; used on one event loop only.

    `timeout_set_ms` is the flush time that meta has for this collector alone, 0 = none.
    """

    batch_size_bytes_max: int = 8 * 1024 * 1024
    flush_timeout_secs: float = 0.2
    timeout_set_ms: Callable[[], int] = lambda: 0
    clock: Callable[[], float] = time.monotonic
    _waiting: FairQueue[PendingExport] = field(default_factory=FairQueue)
    _waiting_bytes: int = 0
    _waiting_records: int = 0
    _arrivals: deque[tuple[float, PendingExport]] = field(default_factory=deque)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _is_draining: bool = False

    def add(self, export: PendingExport) -> None:
        """Add an export; the caller has charged its memory."""
        is_first = not self._waiting
        self._waiting.push(export.sender, export, export.size_bytes)
        self._waiting_bytes += export.size_bytes
        self._waiting_records += export.facts.num_records
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
        is_long = self._waiting_records >= BATCH_RECORDS_MAX
        return is_large or is_long or self._waiting.num_lanes >= BATCH_TOKENS_MAX

    def _due_in_secs(self) -> float | None:
        """Seconds until the oldest waiting export is due; None if none waits."""
        while self._arrivals and self._arrivals[0][1].is_batched:
            self._arrivals.popleft()
        if not self._arrivals:
            return None
        timeout_secs = self.timeout_set_ms() / 1_000 or self.flush_timeout_secs
        return self._arrivals[0][0] + timeout_secs - self.clock()

    def _batch(self) -> list[PendingExport]:
        batch: list[PendingExport] = []
        token_ids: set[str] = set()
        size_bytes = num_records = 0
        while (
            self._waiting
            and size_bytes < self.batch_size_bytes_max
            and num_records < BATCH_RECORDS_MAX
        ):
            token_ids.add(self._waiting.next_token())
            if len(token_ids) > BATCH_TOKENS_MAX:
                break
            export = self._waiting.pop()
            export.is_batched = True
            batch.append(export)
            size_bytes += export.size_bytes
            num_records += export.facts.num_records
        self._waiting_bytes -= size_bytes
        self._waiting_records -= num_records
        return batch

    async def _change(self, wait_secs: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(wait_secs):
                await self._changed.wait()
        except TimeoutError:
            return
